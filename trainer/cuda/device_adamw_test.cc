// Compares the trainer's AdamW by the kernel of a card, emulated on the CPU, with LibTorch's in
// FP64.
#include "trainer/cuda/device_adamw.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/empty_like.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"
#include "trainer/kernels/forwarding_kernels.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/optimizer.h"

namespace muster::trainer::cuda {
namespace {

constexpr int64_t kElements = 9001;

std::unique_ptr<AdamWKernel> OnEmulation() {
  return MakeDeviceAdamW([](c10::Device) -> Stream { return nullptr; });
}

// Kernels of the CPU whose AdamW is a card's. It counts the launches.
class WithAdamW final : public ForwardingKernels, public AdamWKernel {
 public:
  WithAdamW() : ForwardingKernels(KernelsOf(at::empty({0}))) {}

  const AdamWKernel* adamw() const override { return this; }

  void Update(std::span<const AdamWElements> runs, const AdamWUpdate& update) const override {
    ++updates;
    kernel_->Update(runs, update);
  }

  mutable int updates = 0;

 private:
  const std::unique_ptr<AdamWKernel> kernel_ = OnEmulation();
};

WithAdamW& Card() {
  static auto* const card = [] {
    auto* const made = new WithAdamW;
    RegisterKernels(c10::DeviceType::CPU, *made);
    return made;
  }();
  return *card;
}

// One unit and its optimizer.
struct Updated {
  Updated(const OptimizerOptions& options, const at::Tensor& initial, int64_t decayed,
          at::ScalarType type)
      : values(initial.to(type, false, /*copy=*/true)),
        gradients(at::empty_like(values)),
        optimizer(MakeAdamW(options, {{values, gradients, decayed}})) {}

  void Step(const at::Tensor& gradient, int64_t update, double learning_rate) {
    gradients.copy_(gradient);
    optimizer->Apply(0, {.update = update, .learning_rate = learning_rate, .gradient_factor = 0.3});
  }

  at::Tensor values, gradients;
  std::unique_ptr<Optimizer> optimizer;
};

double Furthest(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

class DeviceAdamWTest : public testing::TestWithParam<int64_t> {};

// Gradients of very different sizes, among them ones beside which epsilon counts.
TEST_P(DeviceAdamWTest, TenUpdatesInFp32AreLibTorchsInFp64ToRounding) {
  const OptimizerOptions options{.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.1};
  const at::Tensor initial = at::randn({kElements});
  Card().updates = 0;
  Updated card(options, initial, GetParam(), at::kFloat);
  Updated right(options, initial, GetParam(), at::kDouble);
  const at::Tensor sizes = at::randn({kElements}).mul_(4.0).exp_().mul_(1e-4);
  at::Tensor last;
  for (int64_t update = 1; update <= 10; ++update) {
    last = at::randn({kElements}) * sizes;
    const double rate = 0.01 / static_cast<double>(update);
    card.Step(last, update, rate);
    right.Step(last, update, rate);
  }
  EXPECT_TRUE(card.gradients.equal(last)) << "a pass of its own over the gradients";
  EXPECT_EQ(Card().updates, 10) << "one launch for all runs of a unit, and none in FP64";
  EXPECT_LT(Furthest(card.values, right.values), 3e-6);
  EXPECT_GT(Furthest(card.values, initial), 1e-2);
  for (size_t i = 0; i < 2; ++i) {
    const at::Tensor ours = card.optimizer->state(0)[i].to(at::kDouble);
    const at::Tensor want = right.optimizer->state(0)[i];
    const at::Tensor scale = (i == 0 ? sizes : sizes.square()).to(at::kDouble);
    EXPECT_LT(((ours - want).abs() / scale).max().item<double>(), 1e-5) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Decayed, DeviceAdamWTest, testing::Values(0, 1, 4112, kElements));

TEST(DeviceAdamWKernelTest, TensorsThatDoNotFitAreRefusedInWords) {
  const at::Tensor four = at::zeros({4}), five = at::zeros({5});
  const std::vector<AdamWElements> runs = {{four, five, four, four, 0.0}};
  try {
    OnEmulation()->Update(runs, {});
    FAIL() << "updated 4 values by 5 gradients";
  } catch (const std::exception& e) {
    EXPECT_NE(std::string(e.what()).find("contiguous tensors of one size on one device"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace muster::trainer::cuda
