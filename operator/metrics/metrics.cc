#include "operator/metrics/metrics.h"

#include <string>

#include "operator/core/state/conditions.h"
#include "operator/core/state/failure_policy.h"

namespace muster::control {
namespace {

// The reasons for which active rounds break without being asked to. A series of another reason
// begins with its first event, which a rate does not see.
constexpr Reason kBreaks[] = {
    Reason::kRankFailed,           Reason::kRankStalled, Reason::kWorkerLost,
    Reason::kWorkerMissedDeadline, Reason::kJoinFailed,  Reason::kStatesDiffer,
    Reason::kJobRestarting,
};
constexpr Reason kWished[] = {Reason::kMembershipChanged, Reason::kSpecChanged, Reason::kResumed};

}  // namespace

Metrics::Metrics() {
  for (const char* result : {"success", "conflict", "error", "terminal"}) {
    reconciles_.With({result});
  }
  for (const char* kind : {"decision", "progress"}) status_writes_.With({kind});
  leader_transitions_.With({});
  rounds_opened_.With({"FirstRound"});
  for (const Reason reason : kWished) rounds_opened_.With({std::string(Name(reason))});
  for (const Reason reason : kBreaks) {
    const std::string name(Name(reason));
    rounds_opened_.With({name});
    recoveries_.With({name});
    recovery_duration_.With({name});
  }
  for (const FailureClass kind : AllFailureClasses()) {
    for (const FailureAction action : {FailureAction::kRestartWorker, FailureAction::kRestartJob,
                                       FailureAction::kIgnore, FailureAction::kFailJob}) {
      failures_.With({std::string(Name(kind)), std::string(Name(action))});
    }
  }
}

}  // namespace muster::control
