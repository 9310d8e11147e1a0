#include "trainer/optim/newton_schulz.h"

#include "ATen/ops/addmm.h"
#include "ATen/ops/matmul.h"

namespace muster::trainer {
namespace {

constexpr int kSteps = 5;
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
constexpr double kEpsilon = 1e-7;

}  // namespace

at::Tensor Orthogonalize(const at::Tensor& matrix) {
  const bool turned = matrix.size(0) > matrix.size(1);
  at::Tensor x = turned ? matrix.t() : matrix;
  x = x.div(x.norm().add_(kEpsilon));
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor a = at::matmul(x, x.t());
    const at::Tensor b = at::addmm(a, a, a, /*beta=*/kB, /*alpha=*/kC);
    x = at::addmm(x, b, x, /*beta=*/kA, /*alpha=*/1.0);
  }
  return turned ? x.t() : x;
}

}  // namespace muster::trainer
