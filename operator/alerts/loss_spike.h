#ifndef MUSTER_OPERATOR_ALERTS_LOSS_SPIKE_H_
#define MUSTER_OPERATOR_ALERTS_LOSS_SPIKE_H_

#include <cstddef>

#include "operator/alerts/finding.h"
#include "operator/alerts/training_history.h"

namespace muster::control {

struct LossSpikeMemory {
  size_t calm = 0;  // steps in a row without a spike
};

// The number of steps with a loss that a comparison needs, and the number of steps without a spike
// after which the rule ceases to fire.
inline constexpr size_t kFewestSteps = 20;
inline constexpr size_t kCalmSteps = 20;

// Policy: fires when the loss of a new step is not finite, or more than `factor` times the median
// of up to 100 steps before it, and ceases to fire after kCalmSteps steps in a row without such a
// loss. A median that is not positive is not compared with. The new steps begin at
// history.steps[first_new].
Finding CheckLossSpike(double factor, const TrainingHistory& history, size_t first_new, bool firing,
                       LossSpikeMemory& memory);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_ALERTS_LOSS_SPIKE_H_
