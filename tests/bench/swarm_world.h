#ifndef MUSTER_TESTS_BENCH_SWARM_WORLD_H_
#define MUSTER_TESTS_BENCH_SWARM_WORLD_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/testing/memory_files.h"
#include "base/testing/reserved_port.h"
#include "operator/app/operator_app.h"
#include "operator/coordinator/identity/fake_token_api.h"
#include "operator/kube/memory/memory_api.h"
#include "tests/bench/agent_swarm.h"
#include "tests/bench/swarm_kubelet.h"

namespace muster {

// Operators and simulated agents in one process. Each operator runs as muster-operator does,
// threads, TLS and all, over an embedded API that also issues and reviews tokens. Not thread-safe.
class SwarmWorld {
 public:
  // Starts `replicas` operators that share a lease; the first one leads.
  static absl::StatusOr<std::unique_ptr<SwarmWorld>> Start(int replicas,
                                                           agent::AgentSwarm::Options options);

  // Creates a job with the built-in trainer, and nodes for it. Returns the job's UID.
  absl::StatusOr<std::string> CreateJob(const std::string& name, int workers);
  // Runs the agents until `done` returns true, for at most `patience`; `what` names the awaited
  // state in the error.
  absl::Status RunUntil(const std::function<bool()>& done, absl::Duration patience,
                        const std::string& what);
  // Returns true if every member of the job's newest round has joined.
  bool IsActive(const std::string& job_uid) const;

  // The leading replica, or null.
  control::OperatorApp* leader() const;
  // Stops the leader cleanly.
  void StopLeader();

  agent::AgentSwarm& swarm() { return *swarm_; }
  control::FakeTokenApi& api() { return *api_; }

 private:
  SwarmWorld() = default;

  std::unique_ptr<kube::MemoryApi> memory_;
  std::unique_ptr<control::FakeTokenApi> api_;
  MemoryFiles files_;
  std::vector<ReservedPort> ports_;
  std::vector<std::unique_ptr<control::OperatorApp>> apps_;
  std::unique_ptr<agent::AgentSwarm> swarm_;
  std::unique_ptr<agent::SwarmKubelet> kubelet_;
};

}  // namespace muster

#endif  // MUSTER_TESTS_BENCH_SWARM_WORLD_H_
