#include "trainer/optim/optimizer.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ATen/ops/cat.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/matmul.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros.h"
#include "ATen/ops/zeros_like.h"
#include "gtest/gtest.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/lamb.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/muon.h"
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

// A unit of a matrix in the middle of the model, a bias of zeros, a matrix of the model's ends and
// a gain, in this order but for decay; the padding between them is zero.
struct Tensors {
  struct One {
    OptimizerTensor tensor;
    at::Tensor x, g;  // flat
  };

  Tensors() {
    Add("matrix", {24, 200}, true, false);
    Add("table", {30, 17}, true, true);
    decay = values.numel();
    Add("bias", {70}, false, false).x.zero_();
    Add("gain", {333}, false, false);
    Pad((values.numel() + 4095) / 4096 * 4096);
    for (const One& one : all) {
      values.narrow(0, one.tensor.offset, one.tensor.size).copy_(one.x);
    }
    communicators = MakeLocalCommunicators({.size = 1});
  }

  One& Add(const std::string& name, std::vector<int64_t> shape, bool decays, bool of_ends) {
    OptimizerTensor tensor{.name = name,
                           .shape = std::move(shape),
                           .offset = values.numel(),
                           .size = 1,
                           .settings = {.decay = decays},
                           .is_of_ends = of_ends};
    for (const int64_t d : tensor.shape) tensor.size *= d;
    Pad((tensor.offset + tensor.size + 15) / 16 * 16);
    all.push_back({tensor, at::randn({tensor.size}, at::kDouble), {}});
    return all.back();
  }
  void Pad(int64_t size) {
    values = at::cat({values, at::zeros({size - values.numel()}, at::kDouble)});
    gradients = at::zeros_like(values);
  }

  std::unique_ptr<Optimizer> Make(const OptimizerOptions& options) {
    OptimizerUnit unit{.values = values,
                       .gradients = gradients,
                       .decay_elements = decay,
                       .elements = values.numel()};
    for (const One& one : all) unit.tensors.push_back(one.tensor);
    return options.make(options, {unit});
  }
  // Draws the gradients of a step, and makes it. Returns whether the update is finite.
  bool Step(Optimizer& optimizer, const UpdateOptions& options) {
    for (One& one : all) {
      one.g = at::randn({one.tensor.size}, at::kDouble);
      gradients.narrow(0, one.tensor.offset, one.tensor.size).copy_(one.g);
      one.g = one.g.mul(options.gradient_factor);
    }
    Communicator* const alone = communicators.front().get();
    const auto finite = optimizer.Prepare(options, {.world = alone, .replicas = {alone}});
    EXPECT_TRUE(finite.ok()) << finite.status();
    optimizer.Apply(0, options);
    return finite.value_or(false);
  }
  void ExpectValues() {
    for (const One& one : all) {
      const at::Tensor got = values.narrow(0, one.tensor.offset, one.tensor.size);
      const double error = got.sub(one.x).abs().max().item<double>();
      EXPECT_TRUE(error <= 1e-11) << one.tensor.name << ": " << error;
    }
  }

  at::Tensor values = at::zeros({0}, at::kDouble), gradients;
  int64_t decay = 0;
  std::vector<One> all;
  std::vector<std::unique_ptr<Communicator>> communicators;
};

TEST(LambTest, FollowsThePapersEquationsForEachTensor) {
  Tensors tensors;
  const OptimizerOptions o{
      .make = &MakeLamb, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-6, .weight_decay = 0.1};
  auto optimizer = tensors.Make(o);
  ASSERT_TRUE(optimizer->has_prepare());
  std::vector<std::vector<double>> m(tensors.all.size()), v(tensors.all.size());
  for (int64_t t = 1; t <= 4; ++t) {
    const double rate = 0.02 / static_cast<double>(t);
    ASSERT_TRUE(
        tensors.Step(*optimizer, {.update = t, .learning_rate = rate, .gradient_factor = kFactor}));
    for (size_t i = 0; i < tensors.all.size(); ++i) {
      const auto& [tensor, x, g] = tensors.all[i];
      m[i].resize(static_cast<size_t>(tensor.size));
      v[i].resize(static_cast<size_t>(tensor.size));
      std::vector<double> u(static_cast<size_t>(tensor.size));
      double* const xs = x.mutable_data_ptr<double>();
      const double* const gs = g.const_data_ptr<double>();
      double norm_x = 0.0, norm_u = 0.0;
      for (size_t k = 0; k < u.size(); ++k) {
        m[i][k] = o.beta1 * m[i][k] + (1 - o.beta1) * gs[k];
        v[i][k] = o.beta2 * v[i][k] + (1 - o.beta2) * gs[k] * gs[k];
        const double mh = m[i][k] / (1 - std::pow(o.beta1, t));
        const double vh = v[i][k] / (1 - std::pow(o.beta2, t));
        u[k] = mh / (std::sqrt(vh) + o.epsilon) +
               (tensor.settings.decay ? o.weight_decay * xs[k] : 0.0);
        norm_x += xs[k] * xs[k];
        norm_u += u[k] * u[k];
      }
      // The bias begins with a norm of zero, and then moves by the rate itself.
      EXPECT_EQ(norm_x == 0.0, tensor.name == "bias" && t == 1);
      const double ratio = norm_x > 0 && norm_u > 0 ? std::sqrt(norm_x) / std::sqrt(norm_u) : 1.0;
      for (size_t k = 0; k < u.size(); ++k) xs[k] -= rate * ratio * u[k];
    }
    tensors.ExpectValues();
  }
  EXPECT_EQ(optimizer->state_names(), (std::vector<std::string>{"exp_avg", "exp_avg_sq"}));
}

TEST(LambTest, SaysThatAnUpdateIsNotFinite) {
  Tensors tensors;
  auto optimizer = tensors.Make({.make = &MakeLamb});
  EXPECT_FALSE(
      tensors.Step(*optimizer, {.update = 1,
                                .learning_rate = 0.1,
                                .gradient_factor = std::numeric_limits<double>::infinity()}));
}

// The update of a matrix by the papers' equations, written out; the embedding and the vectors have
// AdamW's.
at::Tensor MuonUpdate(const at::Tensor& g) {
  const bool turned = g.size(0) > g.size(1);
  at::Tensor x = turned ? g.t() : g;
  x = x / (std::sqrt((x * x).sum().item<double>()) + 1e-7);
  for (int i = 0; i < 5; ++i) {
    const at::Tensor a = at::matmul(x, x.t());
    x = 3.4445 * x + at::matmul(-4.7750 * a + 2.0315 * at::matmul(a, a), x);
  }
  const double longer = static_cast<double>(std::max(g.size(0), g.size(1)));
  return 0.2 * std::sqrt(longer) * (turned ? x.t() : x);
}

TEST(MuonTest, FollowsThePapersEquationsForMatricesAndAdamWForTheRest) {
  Tensors tensors;
  const OptimizerOptions o{
      .make = &MakeMuon, .beta1 = 0.95, .beta2 = 0.98, .epsilon = 1e-8, .weight_decay = 0.1};
  auto optimizer = tensors.Make(o);
  std::vector<at::Tensor> m(tensors.all.size()), v(tensors.all.size());
  for (int64_t t = 1; t <= 4; ++t) {
    const double rate = 0.02 / static_cast<double>(t);
    ASSERT_TRUE(
        tensors.Step(*optimizer, {.update = t, .learning_rate = rate, .gradient_factor = kFactor}));
    for (size_t i = 0; i < tensors.all.size(); ++i) {
      const auto& [tensor, x, g] = tensors.all[i];
      if (t == 1) m[i] = at::zeros_like(x), v[i] = at::zeros_like(x);
      if (tensor.settings.decay) x.mul_(1 - rate * o.weight_decay);
      if (tensor.name == "matrix") {
        m[i] = o.beta1 * m[i] + g;
        x.sub_(rate * MuonUpdate((g + o.beta1 * m[i]).view(tensor.shape)).reshape({-1}));
        continue;
      }
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;
      x.sub_(rate * (m[i] / (1 - std::pow(o.beta1, t))) /
             ((v[i] / (1 - std::pow(o.beta2, t))).sqrt() + o.epsilon));
    }
    tensors.ExpectValues();
  }
  const at::Tensor squares = optimizer->state(0)[1];
  EXPECT_EQ(squares.narrow(0, 0, tensors.all[0].tensor.size).abs().max().item<double>(), 0.0);
  EXPECT_GT(squares.abs().max().item<double>(), 0.0);
}

TEST(MuonTest, SaysThatAnUpdateIsNotFinite) {
  Tensors tensors;
  auto optimizer = tensors.Make({.make = &MakeMuon});
  EXPECT_FALSE(
      tensors.Step(*optimizer, {.update = 1,
                                .learning_rate = 0.1,
                                .gradient_factor = std::numeric_limits<double>::infinity()}));
}

TEST(MuonTest, AMatrixWithoutAGradientMovesByItsDecayAlone) {
  Tensors tensors;
  auto optimizer = tensors.Make({.make = &MakeMuon, .weight_decay = 0.1});
  EXPECT_TRUE(
      tensors.Step(*optimizer, {.update = 1, .learning_rate = 0.5, .gradient_factor = 0.0}));
  for (const Tensors::One& one : tensors.all) {
    if (one.tensor.settings.decay) one.x.mul_(0.95);
  }
  tensors.ExpectValues();
}

// Four tensors of two chunks each that are updated in four ways.
struct GroupedCase {
  const char* name;
  OptimizerOptions options;
};

class GroupedOptimizerTest : public testing::TestWithParam<GroupedCase> {};

TEST_P(GroupedOptimizerTest, ATensorIsUpdatedAsByAnOptimizerWithItsRateAndDecay) {
  const OptimizerOptions options = GetParam().options;
  const UpdateSettings kSettings[] = {{.decay = true},
                                      {.decay = true, .weight_decay = 0.3, .rate_factor = 0.5},
                                      {.decay = true, .rate_factor = 0.0},
                                      {.weight_decay = 0.2}};
  const at::Tensor start = at::randn({kElements}, at::kDouble);
  const at::Tensor gradients = at::randn({kElements}, at::kDouble);
  at::Tensor values = start.clone();
  const int64_t size = kElements / 4;
  OptimizerUnit unit{.values = values, .gradients = gradients.clone(), .elements = kElements};
  for (int64_t t = 0; t < 4; ++t) {
    unit.tensors.push_back({.name = std::to_string(t),
                            .shape = {32, size / 32},
                            .offset = t * size,
                            .size = size,
                            .settings = kSettings[t]});
  }
  const auto grouped = options.make(options, {unit});
  const auto ranks = MakeLocalCommunicators({});
  Communicator* const rank = ranks.front().get();
  const auto update = [&](Optimizer& optimizer, int64_t step, double rate) {
    const UpdateOptions of_step = {
        .update = step, .learning_rate = rate, .gradient_factor = kFactor};
    ASSERT_TRUE(optimizer.Prepare(of_step, {.world = rank, .replicas = {rank}}).ok());
    optimizer.Apply(0, of_step);
  };
  for (int64_t step = 1; step <= 3; ++step) {
    unit.gradients.copy_(gradients.mul(1.0 / static_cast<double>(step)));
    update(*grouped, step, 0.01);
  }
  for (int64_t t = 0; t < 4; ++t) {
    const UpdateSettings& settings = kSettings[t];
    OptimizerOptions own = options;
    own.weight_decay = settings.weight_decay.value_or(settings.decay ? options.weight_decay : 0.0);
    // Alone in a unit, which is made of whole chunks.
    at::Tensor alone = at::zeros({4096}, at::kDouble);
    alone.narrow(0, 0, size).copy_(start.narrow(0, t * size, size));
    OptimizerUnit of_alone{.values = alone, .gradients = at::zeros_like(alone), .elements = 4096};
    of_alone.tensors = {
        {.name = "alone", .shape = {32, size / 32}, .size = size, .settings = {.decay = true}}};
    const auto optimizer = own.make(own, {of_alone});
    for (int64_t step = 1; step <= 3; ++step) {
      of_alone.gradients.narrow(0, 0, size)
          .copy_(gradients.narrow(0, t * size, size).mul(1.0 / static_cast<double>(step)));
      update(*optimizer, step, 0.01 * settings.rate_factor);
    }
    const at::Tensor off =
        (values.narrow(0, t * size, size) - alone.narrow(0, 0, size)).abs().max();
    EXPECT_TRUE(off.item<double>() <= 1e-12) << t << " " << off.item<double>();
    const bool moved = !at::equal(alone.narrow(0, 0, size), start.narrow(0, t * size, size));
    EXPECT_EQ(moved, settings.rate_factor != 0.0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GroupedOptimizerTest,
                         testing::Values(GroupedCase{"AdamW", {.make = &MakeAdamW}},
                                         GroupedCase{"Lamb", {.make = &MakeLamb}},
                                         GroupedCase{"Lion", {.make = &MakeLion}},
                                         GroupedCase{"Muon", {.make = &MakeMuon}},
                                         GroupedCase{"Sgd", {.make = &MakeSgd}},
                                         GroupedCase{"SgdWithMomentum",
                                                     {.make = &MakeSgd, .momentum = 0.9}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace muster::trainer
