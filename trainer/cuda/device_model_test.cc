// Trains whole models whose layers and updates are the kernels of a card, emulated on the CPU.
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/allclose.h"
#include "ATen/ops/empty.h"
#include "gtest/gtest.h"
#include "planner/model_shape.h"
#include "trainer/cuda/device_adamw.h"
#include "trainer/cuda/device_layers.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/kernels/forwarding_kernels.h"

namespace muster::trainer::cuda {
namespace {

// The CPU's loops, beside which layers and AdamW are the emulated kernels, or LibTorch's operators.
class CpuWithLayers final : public ForwardingKernels {
 public:
  using ForwardingKernels::ForwardingKernels;

  const LayerKernels* layers() const override {
    ++asked;
    return on ? layers_.get() : nullptr;
  }
  const AdamWKernel* adamw() const override { return on ? adamw_.get() : nullptr; }

  bool on = false;
  mutable int64_t asked = 0;

 private:
  const std::unique_ptr<LayerKernels> layers_ =
      MakeDeviceLayers([](c10::Device) -> Stream { return nullptr; });
  const std::unique_ptr<AdamWKernel> adamw_ =
      MakeDeviceAdamW([](c10::Device) -> Stream { return nullptr; });
};

CpuWithLayers& Card() {
  static auto* const card = [] {
    auto* const made = new CpuWithLayers(KernelsOf(at::empty({0})));
    RegisterKernels(c10::DeviceType::CPU, *made);
    return made;
  }();
  return *card;
}

struct Training {
  Training(planner::ModelFamily family, bool on_card, PrecisionTypes types) {
    Card().on = on_card;
    TrainingOptions options = TinyOptions();
    options.types = types;
    planner::ModelShape shape = TinyModel(0.1);
    shape.family = family;
    solo = std::make_unique<SoloEngine>(options, shape);
    losses = solo->Losses(2);
    validation = *solo->engine.Validate(1);
    Card().on = false;
  }
  std::unique_ptr<SoloEngine> solo;
  std::vector<double> losses;
  double validation = 0;
};

class DeviceModelTest : public testing::TestWithParam<planner::ModelFamily> {};

TEST_P(DeviceModelTest, StepsInFp32AreLibTorchsToRounding) {
  const Training plain(GetParam(), false, {at::kFloat, at::kFloat});
  const int64_t asked = Card().asked;
  const Training card(GetParam(), true, {at::kFloat, at::kFloat});
  EXPECT_GT(Card().asked, asked);
  EXPECT_NE(plain.solo->state->Digest(), card.solo->state->Digest()) << "the kernels did not run";
  for (size_t i = 0; i < plain.losses.size(); ++i) {
    EXPECT_NEAR(card.losses[i], plain.losses[i], 2e-5) << i;
  }
  EXPECT_NEAR(card.validation, plain.validation, 2e-5);
  const auto a = plain.solo->state->FlatTensors(), b = card.solo->state->FlatTensors();
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(at::allclose(a[i].tensor, b[i].tensor, 1e-3, 2e-5)) << a[i].name;
  }
}

TEST_P(DeviceModelTest, StepsInBf16AreAsNearToFp32AsLibTorchs) {
  const Training right(GetParam(), false, {at::kFloat, at::kFloat});
  const Training plain(GetParam(), false, {at::kFloat, at::kBFloat16});
  const Training card(GetParam(), true, {at::kFloat, at::kBFloat16});
  double furthest = 0;
  for (size_t i = 0; i < right.losses.size(); ++i) {
    furthest = std::max(furthest, std::abs(plain.losses[i] - right.losses[i]));
  }
  for (size_t i = 0; i < right.losses.size(); ++i) {
    EXPECT_NEAR(card.losses[i], right.losses[i], 2 * furthest + 1e-4) << i;
  }
}

// The kernels of layers know no FP16, and leave it to LibTorch. AdamW's kernel is for all.
TEST_P(DeviceModelTest, StepsInFp16AreLibTorchs) {
  const Training plain(GetParam(), false, {at::kFloat, at::kHalf});
  const int64_t asked = Card().asked;
  const Training card(GetParam(), true, {at::kFloat, at::kHalf});
  EXPECT_GT(Card().asked, asked);
  for (size_t i = 0; i < plain.losses.size(); ++i) {
    EXPECT_NEAR(card.losses[i], plain.losses[i], 1e-3) << i;
  }
  EXPECT_EQ(card.solo->state->counts().loss_scale, plain.solo->state->counts().loss_scale);
}

INSTANTIATE_TEST_SUITE_P(Families, DeviceModelTest,
                         testing::Values(planner::ModelFamily::kGpt2, planner::ModelFamily::kLlama,
                                         planner::ModelFamily::kBloom),
                         [](const auto& info) {
                           return info.param == planner::ModelFamily::kGpt2    ? "Gpt2"
                                  : info.param == planner::ModelFamily::kLlama ? "Llama"
                                                                               : "Bloom";
                         });

}  // namespace
}  // namespace muster::trainer::cuda
