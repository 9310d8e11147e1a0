#include "trainer/model/layers/linear.h"

#include <tuple>
#include <vector>

#include "ATen/ops/addmm.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/linear.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros_like.h"
#include "gtest/gtest.h"
#include "torch/csrc/autograd/autograd.h"
#include "trainer/model/weight_casts.h"

namespace muster::trainer {
namespace {

at::Tensor Leaf(std::vector<int64_t> shape, at::ScalarType type) {
  return at::randn(shape, type).requires_grad_(true);
}

void ExpectClose(const at::Tensor& a, const at::Tensor& b, double tolerance) {
  EXPECT_LT((a.to(at::kDouble).sub(b.to(at::kDouble))).abs().max().item<double>(), tolerance);
}

TEST(LinearTest, ValueAndGradientsAgreeWithTorch) {
  for (const auto& [type, tolerance] :
       {std::tuple{at::kFloat, 1e-3}, std::tuple{at::kDouble, 1e-12}}) {
    for (const auto& [rows, in, out] : {std::tuple{7, 5, 3}, std::tuple{64, 96, 200}}) {
      const at::Tensor x = Leaf({rows, in}, type), b = Leaf({out}, type);
      const at::Tensor w = Leaf({in, out}, type), v = Leaf({out, in}, type);
      const at::Tensor g = at::randn({rows, out}, type);
      const at::Tensor y = LinearInOut(x, w, b), want = at::addmm(b, x, w);
      ExpectClose(y, want, tolerance);
      const auto got = torch::autograd::grad({y}, {x, w, b}, {g});
      const auto expected = torch::autograd::grad({want}, {x, w, b}, {g});
      for (size_t i = 0; i < got.size(); ++i) ExpectClose(got[i], expected[i], tolerance);
      const at::Tensor z = LinearOutIn(x, v), want_z = at::linear(x, v);
      ExpectClose(z, want_z, tolerance);
      const auto got_z = torch::autograd::grad({z}, {x, v}, {g});
      const auto expected_z = torch::autograd::grad({want_z}, {x, v}, {g});
      for (size_t i = 0; i < got_z.size(); ++i) ExpectClose(got_z[i], expected_z[i], tolerance);
      const at::Tensor u = LinearOutIn(x, v, b), want_u = at::linear(x, v, b);
      ExpectClose(u, want_u, tolerance);
      const auto got_u = torch::autograd::grad({u}, {x, v, b}, {g});
      const auto expected_u = torch::autograd::grad({want_u}, {x, v, b}, {g});
      for (size_t i = 0; i < got_u.size(); ++i) ExpectClose(got_u[i], expected_u[i], tolerance);
    }
  }
}

// In BF16, autograd's own casts give the same bits, but keep a copy of every weight.
TEST(LinearTest, CastWeightsGiveTheBitsOfAutogradsCastsAndAreNotKept) {
  const at::Tensor x = Leaf({48, 40}, at::kBFloat16), b = Leaf({24}, at::kFloat);
  const at::Tensor w = Leaf({40, 24}, at::kFloat), v = Leaf({24, 40}, at::kFloat);
  const at::Tensor g = at::randn({48, 24}, at::kBFloat16);
  const at::Tensor y = LinearInOut(x, w, b);
  const at::Tensor want = at::addmm(b.to(at::kBFloat16), x, w.to(at::kBFloat16));
  EXPECT_TRUE(at::equal(y, want));
  const auto got = torch::autograd::grad({y}, {x, w, b}, {g});
  const auto expected = torch::autograd::grad({want}, {x, w, b}, {g});
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].scalar_type(), expected[i].scalar_type());
    EXPECT_TRUE(at::equal(got[i], expected[i])) << i;
  }
  const at::Tensor z = LinearOutIn(x, v), want_z = at::linear(x, v.to(at::kBFloat16));
  EXPECT_TRUE(at::equal(z, want_z));
  // The weights are read again for the backward pass.
  const at::Tensor twice = v.detach().mul(2);
  v.variable_data().copy_(twice);
  const at::Tensor x_gradient = torch::autograd::grad({z}, {x}, {g})[0];
  EXPECT_TRUE(at::equal(x_gradient, g.matmul(twice.to(at::kBFloat16))));
}

// The gradient of a weight or a bias is a sum over rows, which may exceed the numbers of FP16.
TEST(LinearTest, GradientsInFp16AreAddedUpInFp32) {
  const at::Tensor x = at::full({600, 40}, 2.0, at::kHalf).requires_grad_(true);
  const at::Tensor w = Leaf({40, 24}, at::kFloat), v = Leaf({24, 40}, at::kFloat);
  const at::Tensor b = Leaf({24}, at::kFloat), g = at::full({600, 24}, 256.0, at::kHalf);
  const at::Tensor y = LinearInOut(x, w, b), z = LinearOutIn(x, v);
  EXPECT_EQ(y.scalar_type(), at::kHalf);
  ExpectClose(y.to(at::kFloat), at::addmm(b, x.to(at::kFloat), w), 2e-2);
  const auto got = torch::autograd::grad({y, z}, {x, w, v, b}, {g, g});
  EXPECT_EQ(got[0].scalar_type(), at::kHalf);
  EXPECT_TRUE(at::equal(got[1], at::full({40, 24}, 2.0 * 256 * 600)));
  EXPECT_TRUE(at::equal(got[2], at::full({24, 40}, 2.0 * 256 * 600)));
  EXPECT_TRUE(at::equal(got[3], at::full({24}, 256.0 * 600)));
}

TEST(LinearTest, SharedCastsGiveTheSameBitsInBothPasses) {
  const auto casts = c10::make_intrusive<WeightCasts>();
  const at::Tensor x = Leaf({48, 40}, at::kBFloat16), b = Leaf({24}, at::kFloat);
  const at::Tensor w = Leaf({40, 24}, at::kFloat), v = Leaf({24, 40}, at::kFloat);
  const at::Tensor g = at::randn({48, 24}, at::kBFloat16);
  const at::Tensor y = LinearInOut(x, w, b, casts), want = LinearInOut(x, w, b);
  const at::Tensor z = LinearOutIn(x, v, b, casts), want_z = LinearOutIn(x, v, b);
  EXPECT_TRUE(at::equal(y, want));
  EXPECT_TRUE(at::equal(z, want_z));
  const auto expected = torch::autograd::grad({want, want_z}, {x, w, v, b}, {g, g});
  // Both passes take what casts keep, and not the weights as they are now.
  w.variable_data().zero_();
  v.variable_data().zero_();
  const auto got = torch::autograd::grad({y, z}, {x, w, v, b}, {g, g});
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(at::equal(got[i], expected[i])) << i;
}

TEST(LinearTest, GradientsAreAddedToTheMemoryThatLeavesHave) {
  for (const auto& [type, rows] : {std::tuple{at::kFloat, 48}, std::tuple{at::kFloat, 600},
                                   std::tuple{at::kBFloat16, 48}, std::tuple{at::kHalf, 48}}) {
    const at::Tensor x = at::randn({rows, 40}, type), g = at::randn({rows, 24}, type);
    const at::Tensor w = Leaf({40, 24}, at::kFloat), v = Leaf({24, 40}, at::kFloat);
    const at::Tensor b = Leaf({24}, at::kFloat);
    const at::Tensor want = torch::autograd::grad({LinearInOut(x, w, b)}, {w}, {g})[0];
    const at::Tensor w_memory = at::zeros_like(w), v_memory = at::zeros_like(v);
    w.mutable_grad() = w_memory;
    v.mutable_grad() = v_memory;
    for (int times = 1; times <= 2; ++times) {
      torch::autograd::backward({LinearInOut(x, w, b), LinearOutIn(x, v)}, {g, g});
      EXPECT_TRUE(w.grad().is_same(w_memory));
      EXPECT_TRUE(v.grad().is_same(v_memory));
      ExpectClose(w_memory, want.mul(times), 1e-3);
      ExpectClose(v_memory, want.t().mul(times), type == at::kFloat ? 1e-3 : 0.5);
    }
  }
}

TEST(LinearTest, TheSameProductTwiceIsTheSameBits) {
  const at::Tensor x = at::randn({128, 64}), w = at::randn({64, 256}), b = at::randn({256});
  EXPECT_TRUE(at::equal(LinearInOut(x, w, b), LinearInOut(x.clone(), w.clone(), b.clone())));
}

}  // namespace
}  // namespace muster::trainer
