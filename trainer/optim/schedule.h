#ifndef MUSTER_TRAINER_OPTIM_SCHEDULE_H_
#define MUSTER_TRAINER_OPTIM_SCHEDULE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace muster::trainer {

// The learning rate as a function of the step alone, so that it is the same after any resume. Pure.
struct Schedule {
  enum class Kind { kConstant, kLinear, kCosine };
  Kind kind = Kind::kConstant;
  double peak = 0.0;
  int64_t warmup_steps = 0;
  // The step at which the decay ends.
  int64_t steps = 0;
  // The final rate, as a share of peak.
  double final_fraction = 0.0;

  // Returns the rate of step 1, 2, ...: it rises linearly to peak at step `warmup_steps`. Then it
  // stays there (kConstant), or decays to final_fraction * peak at step `steps` and stays there.
  double At(int64_t step) const;
};

absl::StatusOr<Schedule::Kind> ParseScheduleKind(std::string_view name);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_SCHEDULE_H_
