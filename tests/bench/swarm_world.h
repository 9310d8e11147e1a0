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
#include "operator/app/operator_app.h"
#include "operator/coordinator/fake_token_api.h"
#include "operator/kube/memory/memory_api.h"
#include "tests/bench/agent_swarm.h"
#include "tests/bench/swarm_kubelet.h"

namespace muster {

// Operators and simulated agents in one process: the operator as muster-operator runs it, threads,
// TLS and all, over an embedded API that also issues and reviews tokens. One thread.
class SwarmWorld {
 public:
  // `replicas` operators share a lease; the first to start leads.
  static absl::StatusOr<std::unique_ptr<SwarmWorld>> Start(int replicas,
                                                           agent::AgentSwarm::Options options);

  // A job with the built-in trainer, and nodes for it. Returns its uid.
  absl::StatusOr<std::string> CreateJob(const std::string& name, int workers);
  // Runs the agents until `done`, for at most `patience`.
  absl::Status RunUntil(const std::function<bool()>& done, absl::Duration patience,
                        const std::string& what);
  // Of the job's newest round: every member has joined.
  bool IsActive(const std::string& job_uid) const;

  // The replica that leads, or null.
  control::OperatorApp* leader() const;
  // A clean end of that replica.
  void StopLeader();

  agent::AgentSwarm& swarm() { return *swarm_; }
  control::FakeTokenApi& api() { return *api_; }

 private:
  SwarmWorld() = default;
  absl::Status StartReplica(int number, int of);

  std::unique_ptr<kube::MemoryApi> memory_;
  std::unique_ptr<control::FakeTokenApi> api_;
  MemoryFiles files_;
  std::vector<std::unique_ptr<control::OperatorApp>> apps_;
  std::unique_ptr<agent::AgentSwarm> swarm_;
  std::unique_ptr<agent::SwarmKubelet> kubelet_;
};

}  // namespace muster

#endif  // MUSTER_TESTS_BENCH_SWARM_WORLD_H_
