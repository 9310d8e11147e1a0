#ifndef MUSTER_TRAINER_MODEL_WEIGHT_CASTS_H_
#define MUSTER_TRAINER_MODEL_WEIGHT_CASTS_H_

#include <map>
#include <span>

#include "ATen/core/Tensor.h"
#include "ATen/core/ivalue.h"
#include "c10/core/ScalarType.h"
#include "c10/core/StorageImpl.h"
#include "c10/util/intrusive_ptr.h"
#include "trainer/kernels/fp8_matrix.h"

namespace muster::trainer {

// Keeps copies of weights in the type of matrix products, so that a step makes one of each, however
// many micro-batches use it in forward and backward passes. Weights that lie in one memory, as
// those of a unit do, are copied at once when the first of them is asked for: a device starts one
// copy of a unit sooner than one of each weight. It cannot see writes to a weight: who changes or
// frees its values forgets its copies first. Autograd functions hold it until their
// backward pass, which is why it is an intrusive pointer's. One thread at a time.
class WeightCasts : public torch::CustomClassHolder {
 public:
  // Returns the values of `weight` in `type`, without a graph; `weight` itself if it has the type.
  at::Tensor Of(const at::Tensor& weight, c10::ScalarType type);

  // Returns a matrix of weights in E4M3, by rows and by columns. It is copied alone: each matrix
  // has a scale of its own.
  Fp8Matrix Fp8Of(const at::Tensor& weight);

  // Forgets the copies of these weights and of all that lie in their memory.
  void Forget(std::span<const at::Tensor> weights);
  void ForgetAll() { casts_.clear(); }

 private:
  struct Memory {
    at::Tensor flat;                                       // a copy of all of it
    std::map<const c10::TensorImpl*, at::Tensor> weights;  // views of the copy
    std::map<const c10::TensorImpl*, Fp8Matrix> fp8;
  };

  std::map<const c10::StorageImpl*, Memory> casts_;
};

// Return the values of `weight` in `type` or in FP8: a copy of the caller's own if `casts` is null.
at::Tensor Cast(const c10::intrusive_ptr<WeightCasts>& casts, const at::Tensor& weight,
                c10::ScalarType type);
Fp8Matrix CastToFp8(const c10::intrusive_ptr<WeightCasts>& casts, const at::Tensor& weight);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_WEIGHT_CASTS_H_
