#ifndef MUSTER_OPERATOR_RUNTIME_CONTROLLER_H_
#define MUSTER_OPERATOR_RUNTIME_CONTROLLER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "operator/coordinator/agent_registry.h"
#include "operator/coordinator/progress_board.h"
#include "operator/core/options.h"
#include "operator/core/round_memory.h"
#include "operator/runtime/event_recorder.h"
#include "operator/runtime/executor.h"
#include "operator/runtime/scheduler.h"

namespace muster::control {

// What a reconcile came to.
struct ReconcileResult {
  std::optional<absl::Duration> requeue_after;
  std::string reason;  // of the plan, for logs and the debug page
};

// One job's standing, for /debug/state and metrics.
struct JobDebug {
  std::string key;
  std::string uid;
  int64_t term = 0;
  RoundStamp round;
  std::string phase;
  std::string reason;
  std::string sentence;
  int64_t reconciles = 0;
  int64_t rounds_opened = 0;
  int64_t recoveries = 0;  // rounds that broke and were not asked for
};

// Reconciles jobs: view from the caches and the registry -> Decide -> Executor. Keeps each job's
// RoundMemory and the term of this leadership: one more than the status recorded when the job was
// first seen, made true by the first checked status write. Level-triggered; read-your-writes: a job
// is left alone until the caches show what was last written for it. Thread-safe for different keys;
// one key at a time (the work queue's promise).
class Controller {
 public:
  struct Deps {
    const Clock& clock;
    const JobCache& jobs;
    const PodCache& pods;
    AgentRegistry& registry;
    ProgressBoard& progress;
    Executor& executor;
    EventRecorder& events;
    const Scheduler& scheduler;
  };

  Controller(Deps deps, DecideOptions options);

  // Since when agents can reach the coordinator; before it RunOnce does nothing.
  void Lead();

  // Key: "namespace/name". kAborted: the job changed meanwhile, decide again soon.
  absl::StatusOr<ReconcileResult> RunOnce(const std::string& key);

  std::vector<JobDebug> Debug() const;

 private:
  struct State {
    std::string uid;
    int64_t term = 0;
    RoundMemory memory;
    Written written;
    JobDebug debug;
  };

  State& StateOf(const std::string& key);
  void Forget(const std::string& key);
  bool CachesAreBehind(const State& state) const;
  void Adopt(State& state, const TrainingJob& job);
  JobView BuildView(const TrainingJob& job, const State& state) const;
  void Register(const std::string& key, const JobView& view, const Plan& plan);
  void Remember(State& state, const std::string& key, const Plan& plan);

  const Deps deps_;
  const DecideOptions options_;
  absl::Time leading_since_ = absl::InfiniteFuture();

  mutable Mutex mu_;
  // std::map: a State stays where it is while others come and go.
  std::map<std::string, State> states_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, JobDebug> debug_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_CONTROLLER_H_
