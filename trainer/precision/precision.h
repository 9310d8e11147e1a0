#ifndef MUSTER_TRAINER_PRECISION_PRECISION_H_
#define MUSTER_TRAINER_PRECISION_PRECISION_H_

#include "c10/core/ScalarType.h"
#include "planner/memory.h"

namespace muster::trainer {

// The number types of a run.
struct PrecisionTypes {
  c10::ScalarType parameters = c10::ScalarType::Float;  // also gradients and optimizer state
  c10::ScalarType compute = c10::ScalarType::Float;     // matrix products
  bool fp8 = false;  // linear layers of blocks multiply FP8 numbers; results have `compute`

  // FP16 has few exponents: gradients are those of a loss times a factor (trainer/commit).
  bool scales_loss() const { return compute == c10::ScalarType::Half; }

  bool operator==(const PrecisionTypes&) const = default;
};

// Returns the types of a precision. bf16 has matrix products in bfloat16, and parameters, gradient
// sums, norms, softmax and loss in fp32. fp8 is bf16 but for linear layers. fp16 is bf16 with
// products in float16.
inline PrecisionTypes TypesOf(planner::Precision precision) {
  switch (precision) {
    case planner::Precision::kFp32:
      return {c10::ScalarType::Float, c10::ScalarType::Float};
    case planner::Precision::kBf16:
      return {c10::ScalarType::Float, c10::ScalarType::BFloat16};
    case planner::Precision::kFp16:
      return {c10::ScalarType::Float, c10::ScalarType::Half};
    case planner::Precision::kFp8:
      return {c10::ScalarType::Float, c10::ScalarType::BFloat16, /*fp8=*/true};
    case planner::Precision::kFp64:
      return {c10::ScalarType::Double, c10::ScalarType::Double};
  }
  return {};
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PRECISION_PRECISION_H_
