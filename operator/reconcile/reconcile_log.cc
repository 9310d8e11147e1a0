#include "operator/reconcile/reconcile_log.h"

#include "base/logging.h"
#include "operator/core/round/gang.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/failure_policy.h"
#include "operator/core/state/round_transition.h"

namespace muster::control {
namespace {

bool IsRecovery(const RoundMemory& before, const RoundMemory& after) {
  if (after.phase == before.phase && after.id == before.id) return false;
  const bool broke = before.phase == RoundPhase::kActive &&
                     (after.phase == RoundPhase::kHolding || after.id != before.id);
  return broke && after.broken_reason != Reason::kMembershipChanged &&
         after.broken_reason != Reason::kSpecChanged;
}

std::string WhyOpened(const Plan& plan) {
  if (plan.memory.broken_reason) return std::string(Name(*plan.memory.broken_reason));
  return plan.memory.id.round > 1 ? std::string(Name(Reason::kResumed)) : "FirstRound";
}

void CountRounds(const RoundMemory& before, const Plan& plan, absl::Time now,
                 ControllerObserver* observer, JobDebug& debug) {
  const RoundMemory& after = plan.memory;
  if (after.id.round > before.id.round && after.phase != RoundPhase::kActive) {
    ++debug.rounds_opened;
    if (observer != nullptr) observer->RoundOpened(WhyOpened(plan));
  }
  if (IsRecovery(before, after)) {
    ++debug.recoveries;
    debug.recovering_from = after.broken_reason ? std::string(Name(*after.broken_reason)) : "";
    debug.broke_at = now;
    if (observer != nullptr) observer->RoundBroke(debug.recovering_from);
  }
  if (debug.recovering_from.empty()) return;
  if (after.phase == RoundPhase::kActive) {
    if (observer != nullptr) observer->Recovered(debug.recovering_from, now - debug.broke_at);
    MUSTER_LOG(INFO, "recovered", {"round", after.id.round}, {"from", debug.recovering_from},
               {"seconds", absl::ToDoubleSeconds(now - debug.broke_at)});
  }
  // Phase kIdle means that the job was stopped, or ended, before it recovered.
  if (after.phase == RoundPhase::kActive || after.phase == RoundPhase::kIdle) {
    debug.recovering_from.clear();
    debug.broke_at = absl::InfiniteFuture();
  }
}

}  // namespace

void RecordDecision(const RoundMemory& before, const Plan& plan, int64_t reconcile, absl::Time now,
                    ControllerObserver* observer, JobDebug& debug) {
  CountRounds(before, plan, now, observer, debug);
  for (const EvaluatedFailure& failure : plan.failures) {
    if (observer == nullptr) break;
    observer->FailureEvaluated(std::string(Name(failure.kind)), std::string(Name(failure.action)));
  }
  if (observer != nullptr && plan.write_status) observer->StatusWritten(plan.writes_progress);
  const std::string phase(Name(plan.memory.phase));
  const bool changed = debug.reconciles == 0 || debug.state != plan.status.state() ||
                       debug.phase != phase || debug.round != plan.memory.id ||
                       debug.reason != plan.reason;
  if (changed) {
    MUSTER_LOG(INFO, "decided", {"round", plan.memory.id.round}, {"state", plan.status.state()},
               {"phase", phase}, {"reason", plan.reason}, {"sentence", plan.sentence});
    debug.changed_by = reconcile;
  } else if (debug.sentence != plan.sentence) {
    MUSTER_LOG(DEBUG, "decided", {"reason", plan.reason}, {"sentence", plan.sentence});
  }
  if (debug.round != plan.memory.id || debug.members.size() != plan.memory.members.size()) {
    debug.members.clear();
    for (const v1alpha1::Member& member : plan.memory.members) {
      const v1alpha1::WorkerId& worker = member.worker();
      debug.members.push_back(PodName(worker.job(), worker.index(), worker.incarnation()));
    }
  }
  debug.round = plan.memory.id;
  debug.state = plan.status.state();
  debug.phase = phase;
  debug.reason = plan.reason;
  debug.sentence = plan.sentence;
  debug.reconcile = reconcile;
  ++debug.reconciles;
}

}  // namespace muster::control
