#ifndef MUSTER_TRAINER_MODEL_LAYERS_FP8_LINEAR_H_
#define MUSTER_TRAINER_MODEL_LAYERS_FP8_LINEAR_H_

#include <optional>

#include "ATen/core/Tensor.h"
#include "c10/util/intrusive_ptr.h"
#include "trainer/kernels/fp8_matrix.h"
#include "trainer/model/delayed_gradients.h"
#include "trainer/model/weight_casts.h"

namespace muster::trainer {

// A linear layer that multiplies FP8 numbers, as an autograd function: the recipe of
// Micikevicius et al. (2022) with a scale for each matrix that is computed from its own largest
// magnitude. Input and weight are E4M3, the gradient of the output is E5M2; products are added up
// in FP32. The output and the gradient of the input have the type of x, which is BF16; the gradient
// of the weight is FP32, and is added to the memory that a leaf has for it. A GPU needs compute
// capability 8.9, and rows, inputs and outputs that are multiples of 16. Deterministic for equal
// inputs and one thread.

// One input of several layers in FP8. The first of them that asks has it converted, and all keep
// the same copy for their backward passes. One thread at a time.
class Fp8Input {
 public:
  // Returns x in E4M3, with columns if they are wanted. Every call has the same numbers as x.
  const Fp8Matrix& Of(const at::Tensor& x, bool columns);

 private:
  Fp8Matrix matrix_;
};

// Returns x [rows, in] times weight [in, out], if `in_out`, or times the transpose of weight
// [out, in], plus bias [out] if there is one. Weights in FP8 are asked of `casts`, if it is not
// null, in the forward pass and again in the backward pass. Layers with the same x share `input`;
// the numbers are the same without. `delayed` is as for LinearInOut().
at::Tensor Fp8Linear(const at::Tensor& x, const at::Tensor& weight,
                     const std::optional<at::Tensor>& bias, bool in_out,
                     const c10::intrusive_ptr<WeightCasts>& casts = {}, Fp8Input* input = nullptr,
                     const c10::intrusive_ptr<DelayedGradients>& delayed = {});

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_FP8_LINEAR_H_
