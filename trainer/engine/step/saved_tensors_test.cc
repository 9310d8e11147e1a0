#include "trainer/engine/step/saved_tensors.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/core/Tensor.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/mm.h"
#include "ATen/ops/mul.h"
#include "ATen/ops/tanh.h"
#include "gtest/gtest.h"
#include "planner/activations.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/engine/step/packed_numbers.h"

namespace muster::trainer {
namespace {

using planner::SavedFormat;

at::Tensor Numbers(std::vector<int64_t> sizes, double frequency) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  // The result is no view for autograd, like the parameters of units.
  return (at::arange(count, at::kDouble) * frequency).sin().view(sizes).variable_data();
}

at::Tensor Rounded(const at::Tensor& x, SavedFormat format) {
  return Unpack(Pack(x.detach().contiguous().view({-1}), format)).view(x.sizes());
}

void ExpectEqual(const at::Tensor& got, const at::Tensor& want) {
  const double error = got.sub(want).abs().max().item<double>();
  const double scale = want.abs().max().item<double>();
  EXPECT_TRUE(scale > 0.0 && error <= 1e-12 * scale) << error << " of " << scale;
}

// y = (a b) w2 for a = tanh(x w1) and b = x w3: the gradients written out, with a and b rounded
// where they are read from what was saved. Weights and x, which are leaves, are not rounded.
TEST(SavedTensorsTest, GradientsAreThoseOfTheRoundedActivationsAlone) {
  for (const SavedFormat format : {SavedFormat::kBf16, SavedFormat::kInt8}) {
    const at::Tensor x = Numbers({30, 24}, 0.3).requires_grad_(true);
    const at::Tensor w1 = Numbers({24, 40}, 0.7).requires_grad_(true);
    const at::Tensor w3 = Numbers({24, 40}, 1.1).requires_grad_(true);
    const at::Tensor w2 = Numbers({40, 16}, 1.3).requires_grad_(true);
    const at::Tensor g = Numbers({30, 16}, 0.9);
    at::Tensor y;
    {
      const SavedTensorsScope scope(format);
      const at::Tensor a = at::tanh(at::mm(x, w1));
      y = at::mm(at::mul(a, at::mm(x, w3)), w2);
    }
    y.backward(g);
    const at::Tensor a = at::tanh(x.mm(w1)).detach(), b = x.mm(w3).detach();
    ASSERT_TRUE(y.equal(a.mul(b).mm(w2))) << "the forward pass is exact";
    const at::Tensor of_a = Rounded(a, format), of_b = Rounded(b, format);
    const at::Tensor of_ab = Rounded(a * b, format);
    ExpectEqual(w2.grad(), of_ab.t().mm(g));
    const at::Tensor of_product = g.mm(w2.detach().t());
    const at::Tensor before_tanh = of_product * of_b * (1.0 - of_a * of_a);
    const at::Tensor of_line = of_product * of_a;
    ExpectEqual(w1.grad(), x.detach().t().mm(before_tanh));
    ExpectEqual(w3.grad(), x.detach().t().mm(of_line));
    ExpectEqual(x.grad(), before_tanh.mm(w1.detach().t()) + of_line.mm(w3.detach().t()));
  }
}

TEST(SavedTensorsTest, WeightsViewsOfThemTablesAndSmallTensorsStayAsTheyAre) {
  SavedTensorsScope scope(SavedFormat::kInt8);
  const at::Tensor weight = Numbers({32, 32}, 0.3).requires_grad_(true);
  EXPECT_EQ(scope.PackedOf(weight), nullptr);
  EXPECT_EQ(scope.PackedOf(weight.t()), nullptr);
  EXPECT_EQ(scope.PackedOf(weight.narrow(0, 1, 16).t()), nullptr);
  const at::Tensor table = Numbers({32, 32}, 0.5);
  EXPECT_EQ(scope.PackedOf(table * 2.0), nullptr);
  const at::Tensor activation = weight * 2.0;
  EXPECT_NE(scope.PackedOf(activation), nullptr);
  EXPECT_EQ(scope.PackedOf(activation.sum(0)), nullptr);
  const at::Tensor rows = (weight * 2.0).view({512, 2});
  EXPECT_NE(scope.PackedOf(rows), nullptr);
  EXPECT_EQ(scope.PackedOf(rows.mean(-1, /*keepdim=*/true)), nullptr) << "a statistic of rows";
}

class ViewOfOwnMemory final : public torch::autograd::Function<ViewOfOwnMemory> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* /*context*/, const at::Tensor& x) {
    return at::mul(x, 2.0).view({-1});
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* /*context*/,
                                                 const torch::autograd::variable_list& gradients) {
    return {at::mul(gradients[0], 2.0).view({32, 32})};
  }
};

TEST(SavedTensorsTest, ViewsOfMemoryThatAFunctionHasMadeArePacked) {
  SavedTensorsScope scope(SavedFormat::kInt8);
  const at::Tensor weight = Numbers({32, 32}, 0.3).requires_grad_(true);
  const at::Tensor activation = ViewOfOwnMemory::apply(weight);
  EXPECT_NE(scope.PackedOf(activation), nullptr);
  EXPECT_NE(scope.PackedOf(activation.view({32, 32}).t()), nullptr);
}

TEST(SavedTensorsTest, MemoryIsPackedOnceForAllTensorsInIt) {
  SavedTensorsScope scope(SavedFormat::kBf16);
  const at::Tensor weight = Numbers({32, 48}, 0.3).requires_grad_(true);
  at::Tensor activation = weight * 2.0;
  const auto packed = scope.PackedOf(activation);
  ASSERT_NE(packed, nullptr);
  EXPECT_EQ(scope.PackedOf(activation.view({-1})), packed);
  EXPECT_EQ(scope.PackedOf(activation.narrow(1, 16, 16)), packed);
  EXPECT_NE(scope.PackedOf(weight * 2.0), packed);
  activation.add_(1.0);
  EXPECT_NE(scope.PackedOf(activation), packed) << "it was written since";
}

// The parts of one tensor are views with gaps, as queries, keys and values are.
TEST(SavedTensorsTest, ViewsWithGapsKeepTheirStrides) {
  const at::Tensor x = Numbers({16, 96}, 0.3).requires_grad_(true);
  const at::Tensor w = Numbers({96, 96}, 0.7).requires_grad_(true);
  std::vector<at::Tensor> parts;
  at::Tensor y;
  {
    const SavedTensorsScope scope(SavedFormat::kBf16);
    parts = at::mm(x, w).view({16, 3, 32}).unbind(1);
    y = parts[0] * parts[1] * parts[2];
  }
  y.sum().backward();
  const at::Tensor whole = x.mm(w).detach().view({16, 3, 32});
  const at::Tensor r = Rounded(whole, SavedFormat::kBf16);
  const at::Tensor first = Rounded(whole.select(1, 0) * whole.select(1, 1), SavedFormat::kBf16);
  const at::Tensor g = at::mul(whole, 0.0);
  g.select(1, 0).copy_(r.select(1, 2) * r.select(1, 1));
  g.select(1, 1).copy_(r.select(1, 2) * r.select(1, 0));
  g.select(1, 2).copy_(first);
  ExpectEqual(w.grad(), x.detach().t().mm(g.view({16, 96})));
}

TEST(SavedTensorsTest, OutsideOfAScopeNothingIsPacked) {
  {
    const SavedTensorsScope scope(SavedFormat::kInt8);
  }
  const at::Tensor x = Numbers({30, 24}, 0.3).requires_grad_(true);
  const at::Tensor a = at::tanh(x * 2.0);
  a.sum().backward();
  ExpectEqual(x.grad(), (1.0 - a.detach().square()) * 2.0);
}

}  // namespace
}  // namespace muster::trainer
