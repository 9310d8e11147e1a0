#include "cli/simulate/axis_step.h"

#include <cmath>

namespace muster::cli {

double AxisStep(double width, int count) {
  const double raw = width / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

}  // namespace muster::cli
