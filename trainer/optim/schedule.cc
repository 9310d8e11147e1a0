#include "trainer/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::trainer {

double Schedule::At(int64_t step) const {
  if (step <= warmup_steps) {
    return peak * static_cast<double>(step) /
           static_cast<double>(std::max<int64_t>(1, warmup_steps));
  }
  const double span = static_cast<double>(std::max<int64_t>(1, steps - warmup_steps));
  const double share = std::clamp(static_cast<double>(step - warmup_steps) / span, 0.0, 1.0);
  double left = 1.0;  // share of the way from final_fraction up to 1
  switch (kind) {
    case Kind::kConstant:
      return peak;
    case Kind::kLinear:
      left = 1.0 - share;
      break;
    case Kind::kCosine:
      left = 0.5 * (1.0 + std::cos(std::numbers::pi * share));
      break;
  }
  return peak * (final_fraction + (1.0 - final_fraction) * left);
}

absl::StatusOr<Schedule::Kind> ParseScheduleKind(std::string_view name) {
  if (name == "constant") return Schedule::Kind::kConstant;
  if (name == "linear") return Schedule::Kind::kLinear;
  if (name == "cosine") return Schedule::Kind::kCosine;
  return absl::InvalidArgumentError(absl::StrCat("optimizer.schedule: \"", std::string(name),
                                                 "\" is not constant, linear or cosine"));
}

}  // namespace muster::trainer
