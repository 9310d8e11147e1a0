#ifndef MUSTER_OPERATOR_RECONCILE_CONTROLLER_H_
#define MUSTER_OPERATOR_RECONCILE_CONTROLLER_H_

#include <atomic>
#include <cstdint>
#include <functional>
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
#include "operator/objects/event_recorder.h"
#include "operator/objects/verdicts.h"
#include "operator/reconcile/controller_observer.h"
#include "operator/reconcile/executor.h"
#include "operator/reconcile/progress_budget.h"
#include "operator/reconcile/reconcile_log.h"
#include "operator/reconcile/view_builder.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// What a reconcile came to.
struct ReconcileResult {
  std::optional<absl::Duration> requeue_after;
  std::string reason;      // of the plan, for logs and the debug page
  bool when_idle = false;  // what is left can wait for other jobs' work
};

// Reconciles jobs: view from the caches and the registry -> Decide -> Executor. Keeps each job's
// RoundMemory and the term of this leadership: above the one the status recorded when the job was
// first seen and never below the Lease's leaseTransitions, made true by the first checked status
// write. Who finds a term in the status that it did not write has a rival and does nothing until it
// has renewed its lease once more: then the rival is the false one, and a still higher term says
// so. Level-triggered; read-your-writes: a job is left alone until the caches show what was last
// written for it. What was written for orders to rest on and is not stored is told, and nothing
// more is done until it can be. A write whose content is refused is told and not tried again before
// the job changes. Thread-safe for different keys; one key at a time (the work queue's promise).
class Controller {
 public:
  // What this leadership rests on.
  struct Leadership {
    int64_t lease_term = 0;  // the Lease's leaseTransitions; 0 without one
    // Monotonic: when the newest successful renewal began. Null: there are no rivals.
    std::function<absl::Time()> renewed_at;
  };

  struct Deps {
    const Clock& clock;
    const JobCache& jobs;
    const PodCache& pods;
    AgentRegistry& registry;
    ProgressBoard& progress;
    Executor& executor;
    EventRecorder& events;
    const Verdicts& verdicts;
    ControllerObserver* observer = nullptr;
    const NodeCache* nodes = nullptr;  // null: failures are judged without their conditions
  };

  Controller(Deps deps, DecideOptions options);

  // From now on agents can reach the coordinator; before it RunOnce does nothing.
  void Lead(Leadership leadership);

  // Key: "namespace/name". kAborted: the job changed meanwhile, decide again soon.
  absl::StatusOr<ReconcileResult> RunOnce(const std::string& key);

  std::vector<JobDebug> Debug() const;

 private:
  struct State {
    std::string uid;
    int64_t term = 0;
    bool recorded = false;  // this leadership's term is in the status
    absl::Time rival_since = absl::InfiniteFuture();
    RoundMemory memory;
    Written written;
    // Of the generation it was made of: every decision needs it, and it seldom changes.
    std::optional<JudgedSpec> judged;
    int64_t judged_generation = 0;
    // What the API server refused, and the generation it was made of.
    std::string refusal;
    int64_t refused_generation = 0;
    // Of the status as last written, what must be found in it. Term 0: nothing was written.
    v1alpha1::TrainingJobStatus durable;
    // Why it is not stored; empty: it is. And until when nothing is tried.
    std::string status_fault;
    absl::Time fault_until = absl::InfinitePast();
    absl::Time progress_slot = absl::InfiniteFuture();
    bool settled = false;  // it has ended, and what its end cost was given back
    JobDebug debug;
  };

  State& StateOf(const std::string& key);
  void Forget(const std::string& key);
  absl::Time leading_since() const;
  void Adopt(State& state, const TrainingJob& job);
  std::optional<ReconcileResult> FaceRival(State& state, const TrainingJob& job);
  void CheckStored(State& state, const TrainingJob& job);
  ReconcileResult NoteFault(State& state, const TrainingJob& job, const std::string& why,
                            absl::Duration retry);
  void NoteNode(PodView& pod) const;
  JobView BuildView(const TrainingJob& job, State& state) const;
  absl::StatusOr<ReconcileResult> CarryOut(const std::string& key, const TrainingJob& job,
                                           State& state);
  std::optional<ReconcileResult> FaceRefusal(State& state, const TrainingJob& job,
                                             const absl::Status& written);
  // When to look at the job again after the plan was carried out.
  ReconcileResult NextLook(State& state, absl::Time now, const Plan& plan);
  // Gives back what a job that has ended holds of memory, once nobody asks for it any more.
  void Settle(State& state, const JobView& view, ReconcileResult& next);
  void Register(const std::string& key, const State& state, const JobView& view, const Plan& plan);
  // Takes the plan's memory.
  void Remember(State& state, const std::string& key, Plan& plan, int64_t reconcile);

  const Deps deps_;
  const DecideOptions options_;
  ProgressBudget progress_budget_;
  std::atomic<int64_t> reconciles_{0};

  mutable Mutex mu_;
  absl::Time leading_since_ MUSTER_GUARDED_BY(mu_) = absl::InfiniteFuture();
  Leadership leadership_ MUSTER_GUARDED_BY(mu_);
  // std::map: a State stays where it is while others come and go.
  std::map<std::string, State> states_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, JobDebug> debug_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_CONTROLLER_H_
