#ifndef MUSTER_CLI_SIMULATE_AXIS_STEP_H_
#define MUSTER_CLI_SIMULATE_AXIS_STEP_H_

namespace muster::cli {

// Returns the distance between two marks of an axis: 1, 2 or 5 times a power of ten, such that a
// range of `width` has at most `count` parts. Both must be positive. Pure.
double AxisStep(double width, int count);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SIMULATE_AXIS_STEP_H_
