#include "trainer/optim/optimizer.h"

#include <cmath>
#include <vector>

#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/sgd.h"

namespace muster::trainer {
namespace {

constexpr int64_t kElements = 8192;
constexpr int64_t kDecayed = 4112;
constexpr double kFactor = 0.6;  // of the gradients

struct Fixture {
  at::Tensor values = at::randn({kElements}, at::kDouble);
  at::Tensor gradients = at::randn({kElements}, at::kDouble);
  std::vector<double> p{values.const_data_ptr<double>(),
                        values.const_data_ptr<double>() + kElements};

  std::unique_ptr<Optimizer> Make(const OptimizerOptions& options) {
    return options.make(options, {{values, gradients, kDecayed}});
  }
  void ExpectValues(double tolerance) {
    const double* got = values.const_data_ptr<double>();
    for (int64_t i = 0; i < kElements; ++i) ASSERT_NEAR(got[i], p[i], tolerance) << i;
  }
};

TEST(AdamWTest, FollowsThePlainFormulaWithDecayOnTheFirstRunOnly) {
  Fixture f;
  const OptimizerOptions o{
      .make = &MakeAdamW, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1};
  auto optimizer = f.Make(o);
  EXPECT_EQ(optimizer->state_names(), (std::vector<std::string>{"exp_avg", "exp_avg_sq"}));
  std::vector<double> m(kElements), v(kElements);
  for (int64_t t = 1; t <= 5; ++t) {
    const double lr = 0.01 / static_cast<double>(t);
    const double* g = f.gradients.const_data_ptr<double>();
    for (int64_t i = 0; i < kElements; ++i) {
      if (i < kDecayed) f.p[i] *= 1 - lr * o.weight_decay;
      const double scaled = kFactor * g[i];
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * scaled;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * scaled * scaled;
      const double mh = m[i] / (1 - std::pow(o.beta1, t)), vh = v[i] / (1 - std::pow(o.beta2, t));
      f.p[i] -= lr * mh / (std::sqrt(vh) + o.epsilon);
    }
    optimizer->Apply(0, {.update = t, .learning_rate = lr, .gradient_factor = kFactor});
    f.ExpectValues(1e-12);
    f.gradients.mul_(-0.7).add_(0.01);
  }
  EXPECT_EQ(optimizer->state(0).size(), 2);
}

// The gradients change their signs from step to step, so that the mean matters.
TEST(LionTest, FollowsThePlainFormulaWithDecayOnTheFirstRunOnly) {
  Fixture f;
  const OptimizerOptions o{.make = &MakeLion, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1};
  auto optimizer = f.Make(o);
  EXPECT_EQ(optimizer->state_names(), (std::vector<std::string>{"exp_avg"}));
  std::vector<double> m(kElements);
  for (int64_t t = 1; t <= 5; ++t) {
    const double lr = 0.01 / static_cast<double>(t);
    const double* g = f.gradients.const_data_ptr<double>();
    for (int64_t i = 0; i < kElements; ++i) {
      if (i < kDecayed) f.p[i] *= 1 - lr * o.weight_decay;
      const double scaled = kFactor * g[i];
      f.p[i] -= std::copysign(lr, o.beta1 * m[i] + (1 - o.beta1) * scaled);
      m[i] = o.beta2 * m[i] + (1 - o.beta2) * scaled;
    }
    optimizer->Apply(0, {.update = t, .learning_rate = lr, .gradient_factor = kFactor});
    f.ExpectValues(1e-12);
    f.gradients.mul_(-0.07).add_(0.001);
  }
  EXPECT_EQ(optimizer->state(0).size(), 1);
}

TEST(LionTest, AnElementWithoutAGradientMovesByItsDecayAlone) {
  Fixture f;
  f.gradients.zero_();
  f.Make({.make = &MakeLion, .weight_decay = 0.1})->Apply(0, {.update = 1, .learning_rate = 0.5});
  for (int64_t i = 0; i < kDecayed; ++i) f.p[i] *= 0.95;
  f.ExpectValues(1e-12);
}

TEST(SgdTest, FollowsThePlainFormulaWithMomentum) {
  Fixture f;
  const OptimizerOptions o{.make = &MakeSgd, .weight_decay = 0.1, .momentum = 0.9};
  auto optimizer = f.Make(o);
  std::vector<double> buffer(kElements);
  const at::Tensor gradients = f.gradients.clone();
  for (int64_t t = 1; t <= 3; ++t) {
    f.gradients.copy_(gradients);
    const double* g = gradients.const_data_ptr<double>();
    for (int64_t i = 0; i < kElements; ++i) {
      buffer[i] = 0.9 * buffer[i] + kFactor * g[i] + (i < kDecayed ? 0.1 * f.p[i] : 0.0);
      f.p[i] -= 0.05 * buffer[i];
    }
    optimizer->Apply(0, {.update = t, .learning_rate = 0.05, .gradient_factor = kFactor});
    f.ExpectValues(1e-12);
  }
}

TEST(SgdTest, KeepsNoStateWithoutMomentum) {
  Fixture f;
  auto optimizer = f.Make({.make = &MakeSgd});
  EXPECT_TRUE(optimizer->state(0).empty());
}

}  // namespace
}  // namespace muster::trainer
