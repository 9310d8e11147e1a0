#include "trainer/cuda/device_layers.h"

#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/allclose.h"
#include "ATen/ops/cross_entropy_loss.h"
#include "ATen/ops/gelu.h"
#include "ATen/ops/layer_norm.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/rms_norm.h"
#include "ATen/ops/silu.h"
#include "ATen/ops/tensor.h"
#include "gtest/gtest.h"
#include "torch/csrc/autograd/autograd.h"
#include "trainer/kernels/fp8_matrix.h"
#include "trainer/model/layers/rope.h"

namespace muster::trainer::cuda {
namespace {

// The emulated kernels compute in the host's memory, so that tensors of the CPU take the place of a
// card's. LibTorch in FP64 says what is right.
const LayerKernels& OnEmulation() {
  static const auto* const layers =
      MakeDeviceLayers([](c10::Device) -> Stream { return nullptr; }).release();
  return *layers;
}

using Tensors = std::vector<at::Tensor>;

// The result of a function of FP64 leaves, and the gradients of `upstream` times it.
struct Truth {
  Truth(const Tensors& inputs, const at::Tensor& upstream,
        const std::function<at::Tensor(const Tensors&)>& function) {
    Tensors leaves;
    for (const at::Tensor& input : inputs) {
      leaves.push_back(input.detach().to(at::kDouble).requires_grad_(true));
    }
    y = function(leaves);
    gradients = torch::autograd::grad({y}, leaves, {upstream.to(at::kDouble)});
    y = y.detach();
  }
  at::Tensor y;
  Tensors gradients;
};

void ExpectNear(const at::Tensor& got, const at::Tensor& right, double limit, const char* what) {
  ASSERT_EQ(got.sizes(), right.sizes()) << what;
  const double error = (got.to(at::kDouble) - right).abs().max().item<double>();
  EXPECT_TRUE(error <= limit) << what << ": " << error;
}

class DeviceLayersTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  at::Tensor Random(std::vector<int64_t> sizes) const { return at::randn(sizes).to(GetParam()); }
  // Rounding of the largest elements that these tests have, about 8.
  double limit() const { return GetParam() == at::kFloat ? 2e-5 : 4e-2; }
};

TEST_P(DeviceLayersTest, NormsAndTheirGradientsAreLibTorchs) {
  for (const bool centered : {true, false}) {
    const at::Tensor x = Random({3, 5, 36}).transpose(0, 1), upstream = Random({5, 3, 36});
    const at::Tensor gain = at::randn({36}), bias = centered ? at::randn({36}) : at::Tensor();
    Tensors inputs = {x, gain};
    if (centered) inputs.push_back(bias);
    const Truth truth(inputs, upstream, [&](const Tensors& of) {
      return centered ? at::layer_norm(of[0], {36}, of[1], of[2], 1e-5)
                      : at::rms_norm(of[0], {36}, of[1], 1e-5);
    });
    const NormOutput out = OnEmulation().Norm(x, {}, gain, bias, 1e-5, GetParam());
    EXPECT_EQ(out.y.scalar_type(), GetParam());
    ExpectNear(out.y, truth.y, limit(), "y");
    const NormGradients of = OnEmulation().NormBackward(upstream, {}, x, gain, out);
    ExpectNear(of.x, truth.gradients[0], limit(), "x");
    ExpectNear(of.gain, truth.gradients[1], 1e-4, "gain");
    ASSERT_EQ(of.bias.defined(), centered);
    if (centered) ExpectNear(of.bias, truth.gradients[2], 1e-4, "bias");
  }
}

TEST_P(DeviceLayersTest, ABranchIsAddedBeforeTheNormAndGetsTheGradientOfTheSum) {
  const at::Tensor x = at::randn({5, 3, 36}), branch = Random({5, 3, 36});
  const at::Tensor upstream = Random({5, 3, 36}), past = at::randn({3, 5, 36}).transpose(0, 1);
  const at::Tensor gain = at::randn({36}), bias = at::randn({36});
  const Truth truth({x, branch, gain, bias}, at::ones({}), [&](const Tensors& of) {
    const at::Tensor sum = of[0] + of[1];
    return (at::layer_norm(sum, {36}, of[2], of[3], 1e-5) * upstream + sum * past).sum();
  });
  const NormOutput out = OnEmulation().Norm(x, branch, gain, bias, 1e-5, GetParam());
  ExpectNear(out.sum, (x + branch).to(at::kDouble), 1e-6, "sum");
  const NormGradients of = OnEmulation().NormBackward(upstream, past, out.sum, gain, out);
  EXPECT_EQ(of.branch.scalar_type(), GetParam());
  ExpectNear(of.x, truth.gradients[0], limit(), "x");
  ExpectNear(of.branch, truth.gradients[1], limit(), "branch");
  ExpectNear(of.gain, truth.gradients[2], limit(), "gain");
  ExpectNear(of.bias, truth.gradients[3], limit(), "bias");
}

TEST_P(DeviceLayersTest, ColumnsAreAddedInFp32) {
  const at::Tensor matrix = Random({40, 300}).t();
  const at::Tensor sums = OnEmulation().ColumnSums(matrix);
  EXPECT_EQ(sums.scalar_type(), at::kFloat);
  ExpectNear(sums, matrix.to(at::kDouble).sum(0), 1e-4, "sums");
}

TEST_P(DeviceLayersTest, Fp8HasTheBitsOfLibTorchsOperators) {
  for (const auto type : {at::kFloat8_e4m3fn, at::kFloat8_e5m2}) {
    const at::Tensor matrix = at::randn({68, 2 * 32}).to(GetParam());
    for (const at::Tensor& input :
         {matrix, matrix.t(), matrix.flatten().narrow(0, 2, 64).view({4, 16})}) {
      const Fp8Matrix right = ToFp8(input, type, /*columns=*/true);
      const Fp8Matrix got = OnEmulation().ToFp8(input, type, /*columns=*/true);
      EXPECT_TRUE(got.rows.view(at::kByte).equal(right.rows.view(at::kByte)));
      EXPECT_TRUE(got.columns.view(at::kByte).equal(right.columns.view(at::kByte)));
      EXPECT_TRUE(got.unscale.equal(right.unscale));
    }
  }
}

TEST_P(DeviceLayersTest, HeadsArePutTogetherWhereverTheyLie) {
  const at::Tensor q = Random({2, 3, 5, 8}), k = Random({2, 5, 3, 8}).transpose(1, 2);
  const at::Tensor v = Random({2, 3, 8, 5}).transpose(2, 3);
  for (const bool by_head : {false, true}) {
    const int64_t part = by_head ? 3 : 2;
    const at::Tensor packed = OnEmulation().PackHeads(q, k, v, by_head);
    EXPECT_TRUE(packed.is_contiguous());
    EXPECT_TRUE(packed.select(part, 0).transpose(1, 2).equal(q)) << by_head;
    EXPECT_TRUE(packed.select(part, 1).transpose(1, 2).equal(k)) << by_head;
    EXPECT_TRUE(packed.select(part, 2).transpose(1, 2).equal(v)) << by_head;
  }
}

TEST_P(DeviceLayersTest, ANormWritesTheTypeThatItsReaderWants) {
  const at::Tensor x = Random({7, 40}), gain = at::randn({40});
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const NormOutput out = OnEmulation().Norm(x, {}, gain, {}, 1e-6, type);
    EXPECT_EQ(out.y.scalar_type(), type);
    ExpectNear(out.y, at::rms_norm(x.to(at::kDouble), {40}, gain.to(at::kDouble), 1e-6),
               type == at::kFloat ? 2e-5 : 4e-2, "y");
  }
}

TEST_P(DeviceLayersTest, ActivationsAndTheirGradientsAreLibTorchs) {
  const at::Tensor gate = Random({6, 30}).t(), up = Random({30, 6}), upstream = Random({30, 6});
  const Truth gelu({gate}, upstream, [](const Tensors& of) { return at::gelu(of[0], "tanh"); });
  ExpectNear(OnEmulation().Gelu(gate), gelu.y, limit(), "GELU");
  ExpectNear(OnEmulation().GeluBackward(upstream, gate), gelu.gradients[0], limit(),
             "its gradient");
  const Truth swiglu({gate, up}, upstream,
                     [](const Tensors& of) { return at::silu(of[0]) * of[1]; });
  ExpectNear(OnEmulation().SwiGlu(gate, up), swiglu.y, limit(), "SwiGLU");
  const SwiGluGradients of = OnEmulation().SwiGluBackward(upstream, gate, up);
  ExpectNear(of.gate, swiglu.gradients[0], limit(), "gate");
  ExpectNear(of.up, swiglu.gradients[1], limit(), "up");
}

// The heads of a projection lie beside each other for each position; those of a gradient may lie in
// any order.
TEST_P(DeviceLayersTest, TurnsAreTheLayersWhateverTheStrides) {
  const at::Tensor angles = at::randn({5, 6});
  const at::Tensor cosine = angles.cos(), sine = angles.sin();
  const at::Tensor beside = Random({2, 5, 3, 12}).transpose(1, 2), after = Random({2, 3, 5, 12}),
                   odd = Random({2, 3, 12, 5}).transpose(2, 3);
  for (const at::Tensor& x : {beside, after, odd}) {
    const Truth truth({x}, x, [&](const Tensors& of) {
      return trainer::Turn(of[0], {cosine.to(at::kDouble), sine.to(at::kDouble)});
    });
    ExpectNear(OnEmulation().Turn(x, cosine, sine, false), truth.y, limit(), "turned");
    ExpectNear(OnEmulation().Turn(x, cosine, sine, true), truth.gradients[0], limit(), "back");
  }
}

TEST_P(DeviceLayersTest, LossesTakeTheLogitsPlaceAndIgnoredRowsHaveNone) {
  const at::Tensor logits = Random({5, 33}) * 3;
  const at::Tensor labels = at::tensor({32, -100, 0, 7, 7}, at::kLong);
  const Truth truth({logits}, at::ones({5}), [&](const Tensors& of) {
    return at::cross_entropy_loss(of[0], labels, {}, /*reduction=*/0, -100);
  });
  const at::Tensor gradient = logits.clone();
  ExpectNear(OnEmulation().CrossEntropy(gradient, labels, -100), truth.y, 2e-5, "losses");
  ExpectNear(gradient, truth.gradients[0], GetParam() == at::kFloat ? 1e-6 : 4e-3, "gradient");
}

INSTANTIATE_TEST_SUITE_P(Types, DeviceLayersTest, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& info) {
                           return info.param == at::kFloat ? "Fp32" : "Bf16";
                         });

TEST(DeviceLayersErrorTest, AnotherTypeIsRefusedInWords) {
  try {
    OnEmulation().Gelu(at::randn({4}, at::kDouble));
    FAIL() << "computed in FP64";
  } catch (const std::exception& e) {
    EXPECT_NE(std::string(e.what()).find("compute in FP32 and BF16, not in Double"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace muster::trainer::cuda
