#include "operator/core/decide.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/core/account/alerts.h"
#include "operator/core/account/cost.h"
#include "operator/core/account/ledger.h"
#include "operator/core/ending/active_time.h"
#include "operator/core/ending/ended.h"
#include "operator/core/ending/finish.h"
#include "operator/core/ending/lifetime.h"
#include "operator/core/ending/sources.h"
#include "operator/core/failure/failing_node.h"
#include "operator/core/failure/failure.h"
#include "operator/core/failure/failure_persistence.h"
#include "operator/core/growth/grow.h"
#include "operator/core/growth/keep_spares.h"
#include "operator/core/growth/low_utilisation.h"
#include "operator/core/leave/slow_links.h"
#include "operator/core/leave/spot.h"
#include "operator/core/leave/straggler.h"
#include "operator/core/round/gang.h"
#include "operator/core/round/hand_over.h"
#include "operator/core/round/preemption.h"
#include "operator/core/round/rounds.h"
#include "operator/core/round/suspend.h"
#include "operator/core/round/tunings.h"
#include "operator/core/saves/checkpoint.h"
#include "operator/core/saves/disk_copies.h"
#include "operator/core/saves/replicas.h"
#include "operator/core/saves/save_interval.h"
#include "operator/core/saves/save_request.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/draft.h"
#include "operator/core/state/progress.h"
#include "operator/core/state/spec_values.h"
#include "operator/core/state/workers.h"
#include "operator/core/status_write_policy.h"
#include "operator/core/summary.h"

namespace muster::control {
namespace {

using Policy = void (*)(Draft&);

// A deleted job only loses its pods, a finished one only stops and expires, and an invalid one
// starts nothing. A job that is suspended, or stopped for others, has neither gang nor round.
// Rounds come before the gang, which must not delete what a round still needs. A job that has
// reached its end succeeds, whatever fails after it.
constexpr Policy kPolicies[] = {
    HandleDeletion,
    ReportProgress,
    RecordTunings,
    ReportCheckpoint,
    ExpireFinished,
    Admit,
    RestoreFailures,
    RecordFinishedCommands,
    FinishWhenDone,
    CountFailures,
    LeaveFailingNode,
    ApplyQueueOrder,
    SuspendOrResume,
    EnforceDeadline,
    FindStraggler,
    FindSlowLinks,
    EvacuateNodes,
    GrowIntoFreeCapacity,
    GiveUpIdleWorkers,
    KeepSpares,
    SaveBeforeMembersChange,
    DriveRounds,
    KeepReplicas,
    KeepCopiesOnDisk,
    TellTunings,
    SaveOnRequest,
    SaveAtIntervals,
    ReconcilePods,
};

// Delay of the next decision when the view lacks the last round that this leadership recorded. Few
// such views come here: the controller first waits for its own writes.
constexpr absl::Duration kStaleViewRetry = absl::Milliseconds(50);

// Pods, orders and the next leader rest on the status, so nothing is done except to report the
// fault.
void ReportStatusFault(Draft& draft) {
  const v1alpha1::Condition* shown = FindCondition(draft.view.status, ConditionType::kAdmitted);
  if (shown == nullptr || shown->reason() != Name(Reason::kStatusNotStored)) {
    draft.EmitWarning(Reason::kStatusNotStored, draft.view.status_fault);
  }
  draft.Condition(ConditionType::kAdmitted, false, Reason::kStatusNotStored,
                  draft.view.status_fault);
  draft.SetReason(Reason::kStatusNotStored, draft.view.status_fault);
  DecideWrite(draft);
}

Plan DecideOn(const JobView& view, const RoundMemory& memory, const DecideOptions& options) {
  Draft draft(view, memory, options);
  if (IsManagedByAnother(view.spec)) {
    draft.SetReason(
        Reason::kManagedByAnother,
        absl::StrCat("spec.managedBy names another controller: ", view.spec.managed_by()));
    return std::move(draft.plan);
  }
  const RoundStamp recorded{view.status.term(), view.status.round()};
  if (recorded.term > view.leader_term) {
    draft.SetReason(Reason::kStaleLeader, "a newer leader has written this job's status");
    return std::move(draft.plan);
  }
  if (memory.id > recorded) {
    draft.SetReason(Reason::kNothingToDo, "the view is older than the last write");
    draft.RequeueAt(view.now + kStaleViewRetry);
    return std::move(draft.plan);
  }
  if (!view.status_fault.empty() && !view.job.deleting) {
    ReportStatusFault(draft);
    return std::move(draft.plan);
  }
  draft.status().set_term(view.leader_term);
  draft.SetReason(Reason::kNothingToDo, "everything is as it should be");
  for (const Policy policy : kPolicies) {
    policy(draft);
    if (draft.done) break;
  }
  WatchAlerts(draft);
  StoreFailures(draft);
  KeepNotices(draft);
  KeepToldToStop(draft.plan.memory, draft.status());
  KeepActiveTime(draft);
  Summarize(draft);
  KeepLedger(draft);
  KeepCost(draft);
  DecideWrite(draft);
  if (draft.plan.write_status) {
    ShowLedger(draft);
    ShowCost(draft);
  }
  return std::move(draft.plan);
}

}  // namespace

Plan Decide(const JobView& view, const RoundMemory& memory, const DecideOptions& options) {
  auto refused = RejectSourceChange(view, memory);
  if (!refused) return DecideOn(view, memory, options);
  JobView kept = view;
  if (refused->spec) {
    kept.spec = *std::move(refused->spec);
    kept.refused_change = std::move(refused->sentence);
  } else {
    kept.spec_errors.push_back(std::move(refused->sentence));
  }
  return DecideOn(kept, memory, options);
}

}  // namespace muster::control
