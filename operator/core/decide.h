#ifndef MUSTER_OPERATOR_CORE_DECIDE_H_
#define MUSTER_OPERATOR_CORE_DECIDE_H_

#include "operator/core/state/options.h"
#include "operator/core/state/plan.h"
#include "operator/core/state/round_memory.h"
#include "operator/core/state/view.h"

namespace muster::control {

// Makes one decision about one job. Pure: equal arguments give equal plans. Level-triggered:
// calling it again on a world that has not changed plans nothing new. It never plans an order of a
// round that is not recorded in plan.status (or already in view.status).
//
// The policies, in this order, each in the file of its name: lifetime, progress, tunings,
// checkpoint, lifetime, lifetime, failure_persistence, ended, finish, failure, failing_node,
// preemption, suspend, active_time, straggler, slow_links, spot, grow, low_utilisation,
// keep_spares, hand_over, rounds, replicas, disk_copies, tunings, save_request, save_interval,
// gang. The first of lifetime is
// deletion, then come expiry and admission. Whichever policy acted last, the alert rules are then
// evaluated (alerts.h), the rest of the status is brought up to date, the time that has passed is
// filed (ledger.h, cost.h), and status_write_policy.h decides whether the status is written.
Plan Decide(const JobView& view, const RoundMemory& memory, const DecideOptions& options = {});

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_DECIDE_H_
