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
#include "operator/coordinator/node_board.h"
#include "operator/coordinator/progress/progress_board.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "operator/core/state/options.h"
#include "operator/core/state/round_memory.h"
#include "operator/cost/price_table.h"
#include "operator/notify/notifier.h"
#include "operator/objects/event_recorder.h"
#include "operator/objects/verdicts.h"
#include "operator/reconcile/controller_observer.h"
#include "operator/reconcile/executor.h"
#include "operator/reconcile/job_turns.h"
#include "operator/reconcile/reconcile_log.h"
#include "operator/reconcile/view/view_builder.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// The result of one reconcile.
struct ReconcileResult {
  std::optional<absl::Duration> requeue_after;
  std::string reason;      // the plan's, for logs and the debug page
  bool when_idle = false;  // the next reconcile may wait for other jobs' work
};

// Reconciles jobs: builds a view from the caches and the registry, calls Decide, and has the
// Executor carry out the plan. Keeps each job's RoundMemory and the term of this leadership.
//
// The term is higher than the one in the status when the job was first seen, at least the Lease's
// leaseTransitions, and takes effect with the first checked status write. A term in the status that
// the controller did not write shows a rival. The controller then does nothing until it has renewed
// its lease once more; after that the rival is known to be stale, and is overruled by a still
// higher term.
//
// Level-triggered, with read-your-writes: a job is not decided on until the caches show the last
// writes for it. If a status that orders depend on was not stored, that is reported, and nothing
// more is done until it can be stored. A write whose content is refused is reported and not
// repeated before the job changes (a status also after an hour).
//
// Thread-safe for different keys; the work queue ensures that each key is reconciled by one thread
// at a time.
class Controller {
 public:
  // The evidence that this process leads.
  struct Leadership {
    int64_t lease_term = 0;  // the Lease's leaseTransitions; 0 without one
    // Returns the Monotonic time when the newest successful renewal began. Null: no rival exists.
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
    Notifier* notifier = nullptr;        // null: alerts of jobs are not sent
    const NodeCache* nodes = nullptr;    // null: failures are validated without node conditions
    const NodeBoard* power = nullptr;    // null: GPU power is not measured
    const PriceTable* prices = nullptr;  // null: prices come only from the nodes
  };

  Controller(Deps deps, DecideOptions options);

  // Starts this leadership: from now on agents can reach the coordinator. Until then RunOnce does
  // nothing.
  void Lead(Leadership leadership);

  // Reconciles the job `key`, "namespace/name". kAborted means that the job changed meanwhile and
  // should be decided on again soon.
  absl::StatusOr<ReconcileResult> RunOnce(const std::string& key);

  std::vector<JobDebug> Debug() const;
  // Returns the number of jobs that wait to save until other jobs have written to their storage.
  int SavesWaiting() const { return save_turns_.Waiting(); }

 private:
  struct State {
    std::string uid;
    int64_t term = 0;
    bool recorded = false;  // this leadership's term is in the status
    absl::Time rival_since = absl::InfiniteFuture();
    RoundMemory memory;
    Written written;
    // The spec as validated at `validated_generation`: every decision needs it, and it seldom
    // changes.
    std::optional<ValidatedSpec> validated;
    int64_t validated_generation = 0;
    // The API server's refusal of a pod of this spec, and the generation that it is about.
    std::string refusal;
    int64_t refused_generation = 0;
    // The part of the last written status that must be in the store. Term 0: nothing was written.
    v1alpha1::TrainingJobStatus durable;
    // Reason why that status is not stored (empty if it is), and when to try again (monotonic).
    std::string status_fault;
    absl::Time fault_until = absl::InfinitePast();
    absl::Time progress_slot = absl::InfiniteFuture();
    bool may_save = false;  // a turn of SaveTurns was given and is not used yet
    bool alerted = false;   // the notifier knows of alerts that fire
    bool settled = false;   // the job has ended, and its memory was released
    JobDebug debug;
  };

  State& StateOf(const std::string& key);
  void Forget(const std::string& key);
  absl::Time leading_since() const;
  void Adopt(State& state, const TrainingJob& job);
  std::optional<ReconcileResult> HandleRival(State& state, const TrainingJob& job);
  void CheckStored(State& state, const TrainingJob& job);
  ReconcileResult NoteFault(State& state, const TrainingJob& job, const std::string& why,
                            absl::Duration retry);
  // Fills in the training's progress as agents reported it.
  void ShowProgress(const State& state, JobView& view) const;
  JobView BuildView(const TrainingJob& job, State& state) const;
  absl::StatusOr<ReconcileResult> CarryOut(const std::string& key, const TrainingJob& job,
                                           State& state);
  std::optional<ReconcileResult> HandleRefusal(State& state, const TrainingJob& job,
                                               const absl::Status& written);
  // Returns when to reconcile the job again, given the plan that was carried out.
  ReconcileResult NextLook(State& state, absl::Time now, const Plan& plan);
  // Tells the notifier which alert rules fire.
  void Notify(State& state, const JobView& view, const v1alpha1::TrainingJobStatus& status);
  // Releases the memory of a finished job, once all its pods have ended and a minute has passed.
  void Settle(State& state, const JobView& view, ReconcileResult& next);
  void Register(const std::string& key, const State& state, const JobView& view, const Plan& plan);
  // Moves the plan's memory into `state`.
  void Remember(State& state, const std::string& key, Plan& plan, int64_t reconcile);

  const Deps deps_;
  const DecideOptions options_;
  ProgressBudget progress_budget_;
  SaveTurns save_turns_;
  std::atomic<int64_t> reconciles_{0};

  mutable Mutex mu_;
  absl::Time leading_since_ MUSTER_GUARDED_BY(mu_) = absl::InfiniteFuture();
  Leadership leadership_ MUSTER_GUARDED_BY(mu_);
  // A std::map keeps each State at its address while others come and go.
  std::map<std::string, State> states_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, JobDebug> debug_ MUSTER_GUARDED_BY(mu_);
};

// Returns the alerts that fire by the status, each for the receiver that its rule names. Pure.
Notifier::ByReceiver AlertsByReceiver(const v1alpha1::TrainingJobSpec& spec,
                                      const v1alpha1::TrainingJobStatus& status);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_CONTROLLER_H_
