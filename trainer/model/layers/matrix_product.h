#ifndef MUSTER_TRAINER_MODEL_LAYERS_MATRIX_PRODUCT_H_
#define MUSTER_TRAINER_MODEL_LAYERS_MATRIX_PRODUCT_H_

#include <cstdint>
#include <optional>

#include "ATen/core/Tensor.h"

namespace muster::trainer {

// Matrix products of two tensors of one type, which may have any strides. FP32 on a CPU goes
// through oneDNN, which is faster there than the BLAS behind at::addmm, above all on CPUs not made
// by Intel; other types, and builds without oneDNN, go through LibTorch. Its products of FP16 take
// 3 to 10 times as long as those of FP32 on a CPU without instructions for them: on a CPU the
// factors are widened to FP32, and results are rounded to FP16, as tensor cores do. oneDNN's are
// unknown to autograd. Deterministic for equal shapes and one thread.

// Returns true if products of `x` go through oneDNN.
bool UsesOneDnn(const at::Tensor& x);

// Returns x [rows, in] times the transpose of w [out, in], plus bias [out] if there is one.
at::Tensor TimesTransposed(const at::Tensor& x, const at::Tensor& w,
                           const std::optional<at::Tensor>& bias = std::nullopt);

// Returns a [m, rows] times b [rows, n].
at::Tensor Product(const at::Tensor& a, const at::Tensor& b);

// From so many rows on, oneDNN gains more than the passes over memory for a temporary cost.
inline constexpr int64_t kManyRows = 512;

// A factor of what is added. A scalar of a device stays there, and the host does not wait for it.
class Factor {
 public:
  Factor() = default;  // 1
  explicit Factor(double known) : known_(known) {}
  explicit Factor(const at::Tensor& scalar);

  // Returns its value if the host knows it.
  std::optional<double> known() const;
  // Adds factor * product to sum, which may be of a wider type.
  void AddTo(const at::Tensor& sum, const at::Tensor& product) const;
  at::Tensor Times(const at::Tensor& product) const;

 private:
  double known_ = 1.0;
  at::Tensor of_device_;  // undefined: known_ counts
};

// Adds factor * a [m, rows] times b [rows, n] to sum [m, n], which may be of a wider type, without
// a second tensor of its size. Products in BF16 are rounded to it before they are added on a CPU.
// CUDA devices compute those for an FP32 sum in FP32, and add them as they go where the host knows
// the factor. Products in FP16 are never rounded before they are added to an FP32 sum.
void AddProduct(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b,
                const Factor& factor = {});

// Adds factor * a times b to the gradient of `weight` [m, n], for the backward pass of a function
// that saved it as its input. A leaf that has memory for its gradient, as a unit's parameters do,
// gets the product added there, and the undefined tensor that is returned tells autograd that
// nothing is left to add. Otherwise returns the product in the weight's type.
at::Tensor AddToGradient(const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b,
                         const Factor& factor = {});

// The same for a product that is computed already.
at::Tensor AddToGradient(const at::Tensor& weight, const at::Tensor& product, const Factor& factor);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_MATRIX_PRODUCT_H_
