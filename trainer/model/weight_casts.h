#ifndef MUSTER_TRAINER_MODEL_WEIGHT_CASTS_H_
#define MUSTER_TRAINER_MODEL_WEIGHT_CASTS_H_

#include <map>
#include <span>

#include "ATen/core/Tensor.h"
#include "ATen/core/ivalue.h"
#include "c10/core/ScalarType.h"
#include "c10/util/intrusive_ptr.h"

namespace muster::trainer {

// Keeps copies of weights in the type of matrix products, so that a step makes one of each, however
// many micro-batches use it in forward and backward passes. It cannot see writes to a weight: who
// changes or frees its values forgets its copies first. Autograd functions hold it until their
// backward pass, which is why it is an intrusive pointer's. One thread at a time.
class WeightCasts : public torch::CustomClassHolder {
 public:
  // Returns the values of `weight` in `type`, without a graph; `weight` itself if it has the type.
  at::Tensor Of(const at::Tensor& weight, c10::ScalarType type);

  void Forget(std::span<const at::Tensor> weights);
  void ForgetAll() { casts_.clear(); }

 private:
  std::map<const c10::TensorImpl*, at::Tensor> casts_;
};

// Returns the values of `weight` in `type`: a copy of the caller's own if `casts` is null.
at::Tensor Cast(const c10::intrusive_ptr<WeightCasts>& casts, const at::Tensor& weight,
                c10::ScalarType type);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_WEIGHT_CASTS_H_
