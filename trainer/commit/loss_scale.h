#ifndef MUSTER_TRAINER_COMMIT_LOSS_SCALE_H_
#define MUSTER_TRAINER_COMMIT_LOSS_SCALE_H_

#include <algorithm>
#include <cstdint>

namespace muster::trainer {

// The factor of the loss whose gradients a step computes, so that small ones do not vanish in FP16
// (Micikevicius et al., 2018, "Mixed precision training", section 3.2). It moves by the rule of
// PyTorch's GradScaler. The scale is a power of two, so that gradients are divided by it without
// rounding. Part of the state. A run whose loss is not scaled has a scale of 1 throughout.
struct LossScale {
  int64_t scale = 1;
  int64_t good_steps = 0;  // in a row with finite gradients, since the scale last changed
  bool operator==(const LossScale&) const = default;
};

inline constexpr int64_t kFirstLossScale = int64_t{1} << 16;
inline constexpr int64_t kLeastLossScale = 1;
inline constexpr int64_t kMostLossScale = int64_t{1} << 24;
inline constexpr int64_t kGoodStepsToDouble = 2000;

// Returns the scale of a run's first step.
inline LossScale FirstLossScale(bool scales) {
  return {.scale = scales ? kFirstLossScale : int64_t{1}};
}

// Returns the scale after a step that was applied.
inline LossScale AfterGoodStep(const LossScale& before) {
  if (before.good_steps + 1 < kGoodStepsToDouble) return {before.scale, before.good_steps + 1};
  return {std::min(before.scale * 2, kMostLossScale), 0};
}

// Returns the scale after a step whose gradients or loss were not finite.
inline LossScale AfterOverflow(const LossScale& before) {
  return {std::max(before.scale / 2, kLeastLossScale), 0};
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_LOSS_SCALE_H_
