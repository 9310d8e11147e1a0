#ifndef MUSTER_TRAINER_MODEL_LAYERS_LINEAR_H_
#define MUSTER_TRAINER_MODEL_LAYERS_LINEAR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "ATen/core/Tensor.h"
#include "c10/util/intrusive_ptr.h"
#include "trainer/model/block.h"
#include "trainer/model/delayed_gradients.h"
#include "trainer/model/layers/fp8_linear.h"
#include "trainer/model/layers/layered_block.h"
#include "trainer/model/weight_casts.h"

namespace muster::trainer {

// Matrix products as an autograd function (see matrix_product.h). Every input that requires a
// gradient gets one; in FP32, products of few rows are added to the gradient of a weight that is a
// leaf with memory for it, so that torch::autograd::grad() is only for weights without.
// Deterministic for equal shapes and one thread. The product is in the type of x: weights of
// another type are cast to it, through `casts` if it is not null. If `delayed` is not null and
// holds, the gradient of the weight, which is a leaf with memory for it, is left there.

// Returns x [rows, in] times weight [in, out], plus bias [out] if there is one: the Conv1D of the
// original GPT-2.
at::Tensor LinearInOut(const at::Tensor& x, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias,
                       const c10::intrusive_ptr<WeightCasts>& casts = {},
                       const c10::intrusive_ptr<DelayedGradients>& delayed = {});

// Returns x [rows, in] times the transpose of weight [out, in], plus bias [out] if there is one.
at::Tensor LinearOutIn(const at::Tensor& x, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias = std::nullopt,
                       const c10::intrusive_ptr<WeightCasts>& casts = {},
                       const c10::intrusive_ptr<DelayedGradients>& delayed = {});

struct LinearOptions {
  int64_t in = 0;
  int64_t out = 0;
  enum class Layout { kInOut, kOutIn };  // the order of the weight's dimensions in memory
  Layout layout = Layout::kOutIn;
  bool bias = false;  // kInOut always has one
  double deviation = 0.02;
  // The dimension that the ranks of the tensor axis divide, as in Shoeybi et al. (2019): a column
  // parallel layer divides its outputs, a row parallel one its inputs. It consists of `blocks`, and
  // each of them of `pieces`, as in Partition.
  enum class Divide { kNothing, kOutputs, kInputs };
  Divide divide = Divide::kNothing;
  int64_t pieces = 1;
  int64_t blocks = 1;
};

// Return the options of a layer that is divided so.
LinearOptions ColumnParallel(LinearOptions options, int64_t pieces, int64_t blocks = 1);
LinearOptions RowParallel(LinearOptions options, int64_t pieces);

// The input of linear layers of a block, [rows, in], of the whole sequence. Layers that have the
// same one share what they make of it in FP8. One thread at a time.
class LinearInput {
 public:
  explicit LinearInput(at::Tensor rows) : rows_(std::move(rows)) {}

  const at::Tensor& rows() const { return rows_; }
  Fp8Input& fp8() const { return fp8_; }

 private:
  const at::Tensor rows_;
  mutable Fp8Input fp8_;
};

// A linear layer with weights of its block: `name`.weight and `name`.bias.
class Linear {
 public:
  Linear(ParameterList& parameters, const std::string& name, const LinearOptions& options);

  // Computes in the context's type, or in FP8 (see fp8_linear.h). The rows of a row parallel
  // layer's result are those of this rank's run of the sequence.
  at::Tensor operator()(const LinearInput& x, const MicroBatchContext& context) const;
  at::Tensor operator()(const at::Tensor& x, const MicroBatchContext& context) const {
    return (*this)(LinearInput(x), context);
  }

 private:
  at::Tensor Multiply(const LinearInput& x, const std::optional<at::Tensor>& bias,
                      const MicroBatchContext& context) const;

  const ParameterList& parameters_;
  const LinearOptions::Layout layout_;
  const bool row_parallel_;
  size_t weight_ = 0;
  std::optional<size_t> bias_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_LINEAR_H_
