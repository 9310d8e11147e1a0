#include "trainer/kernels/fp8_matrix.h"

#include "ATen/ops/full.h"
#include "c10/util/Exception.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {
namespace {

// Returns the kernels that convert such a matrix, or null.
const LayerKernels* ConverterOf(const at::Tensor& matrix) {
  constexpr int64_t kRun = LayerKernels::kFp8Run;
  const bool fits = matrix.numel() > 0 && matrix.size(0) % kRun == 0 && matrix.size(1) % kRun == 0;
  return fits ? LayersOf(matrix) : nullptr;
}

}  // namespace

float LargestOfFp8(c10::ScalarType type) {
  TORCH_CHECK(type == at::kFloat8_e4m3fn || type == at::kFloat8_e5m2,
              "FP8 is Float8_e4m3fn or Float8_e5m2, not ", type);
  return type == at::kFloat8_e4m3fn ? 448.0f : 57344.0f;
}

Fp8Matrix ToFp8(const at::Tensor& matrix, c10::ScalarType type, bool columns) {
  TORCH_CHECK(matrix.dim() == 2, "FP8 is for matrices, and this has ", matrix.dim(), " dimensions");
  const float most = LargestOfFp8(type);
  if (const LayerKernels* layers = ConverterOf(matrix)) return layers->ToFp8(matrix, type, columns);
  const at::Tensor wide = matrix.to(at::kFloat);
  const at::Tensor largest = wide.abs().amax().clamp_min(kLeastFp8Magnitude);
  const at::Tensor scale = at::full({}, most, largest.options()).div(largest);
  Fp8Matrix out{.rows = wide.mul(scale).clamp_(-most, most).to(type).contiguous(),
                .columns = {},
                .unscale = scale.reciprocal()};
  if (columns) out.columns = out.rows.t().contiguous();
  return out;
}

}  // namespace muster::trainer
