#ifndef MUSTER_OPERATOR_ALERTS_LOSS_NOT_FALLING_H_
#define MUSTER_OPERATOR_ALERTS_LOSS_NOT_FALLING_H_

#include <optional>

#include "operator/alerts/finding.h"
#include "operator/alerts/training_history.h"

namespace muster::control {

struct LossNotFallingMemory {
  // The minimum that a validation must undercut for the rule to cease to fire.
  std::optional<double> minimum;
};

// Policy: fires when the newest `evaluations` validations brought no new minimum of the validation
// loss, and ceases to fire when a validation brings one. A loss that is not finite is no minimum. A
// new leader knows the validations since it leads, and measures by their minimum.
Finding CheckLossNotFalling(int evaluations, const TrainingHistory& history, bool firing,
                            LossNotFallingMemory& memory);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_ALERTS_LOSS_NOT_FALLING_H_
