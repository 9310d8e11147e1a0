#ifndef MUSTER_OPERATOR_CORE_ENDING_UNSAVED_H_
#define MUSTER_OPERATOR_CORE_ENDING_UNSAVED_H_

#include <optional>
#include <string>

#include "operator/core/state/draft.h"

// The steps that a job loses if it stops now. A stop that its owner asked for waits for them to be
// saved as long as workers can retry a failed save; a stop for another job does not.
namespace muster::control {

// Describes the trained steps that no checkpoint has, and the error of the newest save if it
// failed, e.g. "steps 21 to 60 are not saved: ...". Returns nullopt if every step is saved, or if
// the job saves nothing.
std::optional<std::string> DescribeUnsaved(const Draft& draft);

// Returns true if a save of what the job would lose has failed, and workers are left to retry it.
bool WaitsForRoom(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ENDING_UNSAVED_H_
