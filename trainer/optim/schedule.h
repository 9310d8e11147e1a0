#ifndef MUSTER_TRAINER_OPTIM_SCHEDULE_H_
#define MUSTER_TRAINER_OPTIM_SCHEDULE_H_

#include <cstdint>

namespace muster::trainer {

struct Schedule;

// Returns the learning rate of a step after the warm-up. Pure.
using RateFunction = double (*)(const Schedule& schedule, int64_t step);

// The rate stays at the peak.
double ConstantRate(const Schedule& schedule, int64_t step);
// The rate falls from the peak to final_fraction * peak at step `steps` and stays there: in a
// straight line, or along half a cosine wave (Loshchilov and Hutter, 2017).
double LinearRate(const Schedule& schedule, int64_t step);
double CosineRate(const Schedule& schedule, int64_t step);
// The rate stays at the peak until the last `decay_steps` steps before `steps`, and falls to
// final_fraction * peak in these, in a straight line (WSD: warm-up, stable, decay; Hu et al.,
// 2024).
double WsdRate(const Schedule& schedule, int64_t step);
// The rate is peak * sqrt(warmup_steps / step); no warm-up counts as one of a single step (Vaswani
// et al., 2017).
double InverseSqrtRate(const Schedule& schedule, int64_t step);

// The learning rate as a function of the step alone, so that it is the same after any resume. Pure.
struct Schedule {
  RateFunction rate = &ConstantRate;
  double peak = 0.0;
  int64_t warmup_steps = 0;
  // The step at which the decay ends.
  int64_t steps = 0;
  // The final rate, as a share of peak.
  double final_fraction = 0.0;
  // The steps of WsdRate's decay; not more than those after the warm-up count.
  int64_t decay_steps = 0;

  // Returns the rate of step 1, 2, ...: it rises linearly to peak at step `warmup_steps`, and is
  // `rate` from then on.
  double At(int64_t step) const;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_SCHEDULE_H_
