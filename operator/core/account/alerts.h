#ifndef MUSTER_OPERATOR_CORE_ACCOUNT_ALERTS_H_
#define MUSTER_OPERATOR_CORE_ACCOUNT_ALERTS_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: evaluates the job's alert rules (operator/alerts) on every decision. Those that fire are
// in status.alerts and in the condition AlertFiring, and each change is an event. A rule with the
// action Suspend that begins to fire sets spec.suspend, as a user would.
void WatchAlerts(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ACCOUNT_ALERTS_H_
