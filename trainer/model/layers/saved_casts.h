#ifndef MUSTER_TRAINER_MODEL_LAYERS_SAVED_CASTS_H_
#define MUSTER_TRAINER_MODEL_LAYERS_SAVED_CASTS_H_

#include <utility>

#include "ATen/core/Tensor.h"
#include "ATen/core/ivalue.h"
#include "c10/util/intrusive_ptr.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/model/delayed_gradients.h"
#include "trainer/model/weight_casts.h"

namespace muster::trainer {

// Keeps a weight from a function's forward pass to its backward pass. It stays the leaf that it is,
// whose gradient and memory the backward pass finds by it; of a tensor that autograd saves, a hook
// may give back a copy.
inline void SaveWeight(torch::autograd::AutogradContext& context, const at::Tensor& weight) {
  context.saved_data["weight"] = weight;
}

inline at::Tensor WeightOf(const torch::autograd::AutogradContext& context) {
  return context.saved_data.at("weight").toTensor();
}

// Keeps `casts`, which may be null, from a function's forward pass to its backward pass.
inline void Save(torch::autograd::AutogradContext& context,
                 const c10::intrusive_ptr<WeightCasts>& casts) {
  if (casts) context.saved_data["casts"] = c10::IValue::make_capsule(casts);
}

inline c10::intrusive_ptr<WeightCasts> CastsOf(const torch::autograd::AutogradContext& context) {
  const auto saved = context.saved_data.find("casts");
  if (saved == context.saved_data.end()) return {};
  return c10::static_intrusive_pointer_cast<WeightCasts>(saved->second.toCapsule());
}

// The same for where the function leaves gradients of weights.
inline void Save(torch::autograd::AutogradContext& context,
                 const c10::intrusive_ptr<DelayedGradients>& delayed) {
  if (delayed) context.saved_data["delayed"] = c10::IValue::make_capsule(delayed);
}

// Returns a product that is added to the gradient of `weight`, or nothing if it is added later, or
// by itself.
inline at::Tensor NowOrLater(const torch::autograd::AutogradContext& context,
                             const at::Tensor& weight, DelayedGradients::Product product) {
  const auto saved = context.saved_data.find("delayed");
  if (saved == context.saved_data.end()) return product();
  return c10::static_intrusive_pointer_cast<DelayedGradients>(saved->second.toCapsule())
      ->Now(weight, std::move(product));
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_SAVED_CASTS_H_
