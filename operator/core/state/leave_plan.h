#ifndef MUSTER_OPERATOR_CORE_STATE_LEAVE_PLAN_H_
#define MUSTER_OPERATOR_CORE_STATE_LEAVE_PLAN_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

// The way in which a worker leaves a node that goes away. Pure.
namespace muster::control {

enum class LeavePlan {
  kSave,      // a checkpoint first, then the next round goes without the worker
  kHandOver,  // the next round goes without the worker, from the state that others hold
  kLeave,     // the worker leaves, and the job goes back to its last checkpoint if it must
};

std::string_view Name(LeavePlan plan);

// Returns the time for a sentence, to a tenth of a second.
std::string TenthsText(absl::Duration duration);

struct LeaveFacts {
  absl::Duration left;  // until the node goes; not negative
  // A checkpoint can be saved: there is a place for it, and a round that can write it.
  bool may_save = false;
  // From an order to save until the checkpoint is durable, as measured; absent: none was yet.
  std::optional<absl::Duration> save;
  // From the end of a round until the next one trains.
  absl::Duration change;
  // The workers that stay hold every slice of the state.
  bool others_hold_all = false;
};

struct LeaveChoice {
  LeavePlan plan = LeavePlan::kLeave;
  // The worker leaves after this time at the latest, whether or not there is a checkpoint.
  absl::Duration latest;
  std::string reason;  // "a checkpoint takes 20s, and 2m are left"
};

// Returns the plan that loses least of those for which there is time. A checkpoint is first even
// where others hold all of the state, because spot nodes of one kind are taken together. It is
// expected to take a quarter more than the last one, and the change of rounds follows it; where
// none has been measured, half of the time is given to it.
LeaveChoice ChooseLeavePlan(const LeaveFacts& facts);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_LEAVE_PLAN_H_
