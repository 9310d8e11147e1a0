#ifndef MUSTER_TESTS_INTEGRATION_OPERATOR_WORLD_H_
#define MUSTER_TESTS_INTEGRATION_OPERATOR_WORLD_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "operator/api/training_job.h"
#include "operator/app/operator_app.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/wrap/faulty_api.h"
#include "operator/notify/receivers.h"
#include "tests/integration/pod_worker.h"
#include "tests/integration/scripted_agent.h"

namespace muster::control {

// The machine's clocks, with a wall clock that can be stepped as a time server or a person might.
class SteppedClock final : public Clock {
 public:
  absl::Time Monotonic() const override { return Clock::Real().Monotonic(); }
  absl::Time Wall() const override {
    return Clock::Real().Wall() + absl::Seconds(offset_seconds_.load());
  }
  void StepWall(absl::Duration by) { offset_seconds_ += absl::ToInt64Seconds(by); }

 private:
  std::atomic<int64_t> offset_seconds_ = 0;
};

// The real operator over the embedded API. The test plays the kubelet: it marks bound pods Running,
// runs a ScriptedAgent for each, and reports their exits. Not thread-safe.
class OperatorWorld {
 public:
  OperatorWorld();
  ~OperatorWorld();

  void StartOperator();
  void StopOperator();
  void CreateJob(const std::string& manifest_json);
  void AddNode(const std::string& name, int pods, const kube::Labels& labels = {});

  // Plays the kubelet until `done` returns true. Returns false after 20 s.
  bool Until(const std::function<bool()>& done);
  // Plays the kubelet for a while, to see that something does not happen.
  void Settle();

  TrainingJob Job();
  std::vector<Json> Pods();
  // The agent of worker `index`'s newest pod; null when none runs.
  ScriptedAgent* Agent(int index);
  void KillAgent(int index);
  // The number of workers that are active in this round.
  int ActiveIn(int64_t round) const;

  SteppedClock clock;  // shared by the API and the operator
  std::unique_ptr<kube::MemoryApi> memory;
  std::unique_ptr<kube::FaultyApi> api;
  std::unique_ptr<OperatorApp> app;
  std::string socket;
  // The HTTP address of operators that are started from now on, and the token file they use when it
  // is a port.
  std::string http;
  std::string http_token_file() const { return folder_ + "/http.token"; }
  // Decision log of operators that are started from now on; empty: none is kept.
  std::string decision_log_dir;
  // Kueue topology of operators that are started from now on; empty: levels are found from the
  // nodes' labels.
  std::string kueue_topology;
  absl::Duration prepare_deadline = OperatorOptions().prepare_deadline;
  absl::Duration join_deadline = OperatorOptions().join_deadline;
  // The receivers of alerts, and how often alert rules are evaluated, of operators that are started
  // from now on.
  std::vector<Receiver> alert_receivers;
  absl::Duration alert_interval = absl::Milliseconds(50);
  // Orders that agents started from now on leave unanswered, by worker index.
  std::map<int, ScriptedAgent::UnansweredOrders> unanswered;
  // If set, this is called for each bound pod in place of starting a ScriptedAgent.
  std::function<void(const PodWorker&)> start_agent;

 private:
  struct Container {
    int index = 0;
    int incarnation = 0;
    std::unique_ptr<ScriptedAgent> agent;  // null if the test starts agents itself
    bool killed = false;
  };

  void RunKubelet();
  void StartPod(const Json& pod);
  void SetPhase(Json pod, const std::string& phase, std::optional<int> exit_code);

  std::string folder_;
  std::map<std::string, Container> containers_;  // by pod UID
};

}  // namespace muster::control

#endif  // MUSTER_TESTS_INTEGRATION_OPERATOR_WORLD_H_
