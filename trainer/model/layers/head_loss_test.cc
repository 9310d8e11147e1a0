#include "trainer/model/layers/head_loss.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ATen/Context.h"
#include "ATen/TensorIndexing.h"
#include "ATen/core/Reduction.h"
#include "ATen/core/grad_mode.h"
#include "ATen/ops/cross_entropy_loss.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/linear.h"
#include "ATen/ops/randint.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros_like.h"
#include "c10/util/Exception.h"
#include "gtest/gtest.h"
#include "planner/logits_rows.h"
#include "torch/csrc/autograd/autograd.h"
#include "trainer/model/block.h"

namespace muster::trainer {
namespace {

constexpr int64_t kWidth = 24;
// The second has so large a vocabulary that its rows are several chunks.
constexpr std::tuple<int64_t, int64_t> kShapes[] = {{40, 300}, {100, 90'000}};

struct Problem {
  at::Tensor x, weight, labels;
};

Problem MakeProblem(int64_t rows, int64_t vocabulary, at::ScalarType type) {
  at::manual_seed(7);
  Problem p{.x = at::randn({rows, kWidth}, type).requires_grad_(true),
            .weight = at::randn({vocabulary, kWidth}, type).requires_grad_(true),
            .labels = at::randint(vocabulary, {rows}, at::kLong)};
  p.labels[3] = kIgnoredLabel;
  p.labels[rows - 1] = kIgnoredLabel;
  return p;
}

at::Tensor Whole(const Problem& p, at::ScalarType type) {
  const at::Tensor logits = at::linear(p.x.to(type), p.weight.to(type));
  return at::cross_entropy_loss(logits.to(type == at::kDouble ? type : at::kFloat), p.labels, {},
                                at::Reduction::Sum, kIgnoredLabel);
}

double Distance(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kDouble)
      .sub(b.to(at::kDouble))
      .norm()
      .div(b.to(at::kDouble).norm())
      .item<double>();
}

std::vector<at::Tensor> Gradients(const at::Tensor& loss, const Problem& p) {
  return torch::autograd::grad({loss}, {p.x, p.weight}, {at::full({}, 0.37, loss.options())});
}

TEST(HeadLossTest, LossAndGradientsAgreeWithThoseOfAllLogitsAtOnce) {
  ASSERT_EQ(planner::LogitsRows(40, 300), 40);
  ASSERT_LT(planner::LogitsRows(100, 90'000), 100);
  for (const auto& [rows, vocabulary] : kShapes) {
    for (const auto& [type, tolerance] :
         {std::tuple{at::kDouble, 1e-13}, std::tuple{at::kFloat, 2e-6}}) {
      const Problem p = MakeProblem(rows, vocabulary, type);
      const at::Tensor loss = HeadLoss(p.x, p.weight, p.labels, type), want = Whole(p, type);
      EXPECT_EQ(loss.scalar_type(), type);
      EXPECT_LT(Distance(loss, want), tolerance) << rows;
      const auto got = Gradients(loss, p), expected = Gradients(want, p);
      EXPECT_LT(Distance(got[0], expected[0]), tolerance) << rows;
      EXPECT_LT(Distance(got[1], expected[1]), tolerance) << rows;
    }
  }
}

TEST(HeadLossTest, Bf16ProductsHaveAnFp32LossAndGradients) {
  for (const auto& [rows, vocabulary] : kShapes) {
    const Problem p = MakeProblem(rows, vocabulary, at::kFloat);
    const at::Tensor loss = HeadLoss(p.x, p.weight, p.labels, at::kBFloat16);
    EXPECT_EQ(loss.scalar_type(), at::kFloat);
    EXPECT_LT(Distance(loss, Whole(p, at::kBFloat16)), 1e-6);
    const auto got = Gradients(loss, p), expected = Gradients(Whole(p, at::kBFloat16), p);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].scalar_type(), at::kFloat);
      EXPECT_LT(Distance(got[i], expected[i]), 1e-2) << rows << " " << i;
    }
  }
}

// Logits so far apart that most gradients are below the least number of FP16.
TEST(HeadLossTest, Fp16KeepsGradientsThatAreTooSmallForIt) {
  for (const auto& [rows, vocabulary] : kShapes) {
    Problem p = MakeProblem(rows, vocabulary, at::kFloat);
    p.weight = p.weight.detach().mul(2.0).requires_grad_(true);
    const at::Tensor loss = HeadLoss(p.x, p.weight, p.labels, at::kHalf);
    EXPECT_EQ(loss.scalar_type(), at::kFloat);
    const double of_loss = Distance(loss, Whole(p, at::kFloat));
    EXPECT_TRUE(of_loss <= 1e-3) << of_loss;
    const auto got = Gradients(loss, p), expected = Gradients(Whole(p, at::kFloat), p);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].scalar_type(), at::kFloat);
      const double error = Distance(got[i], expected[i]);
      EXPECT_TRUE(error <= 1e-2) << rows << " " << i << ": " << error;
    }
    // The rows of symbols that are no label have tiny gradients alone.
    const at::Tensor small = expected[1].abs().amax(1).lt(1e-7);
    if (small.any().item<bool>()) {
      const double error = Distance(got[1].index({small}), expected[1].index({small}));
      EXPECT_TRUE(error <= 0.05) << rows << ": " << error;
    }
  }
}

TEST(HeadLossTest, AGradientThatHasMemoryIsAddedToWhereItLies) {
  for (const auto& [rows, vocabulary] : kShapes) {
    const Problem p = MakeProblem(rows, vocabulary, at::kFloat);
    const auto want = Gradients(Whole(p, at::kFloat), p);
    const at::Tensor memory = at::zeros_like(p.weight);
    p.weight.mutable_grad() = memory;
    for (int times = 1; times <= 2; ++times) {
      const at::Tensor loss = HeadLoss(p.x, p.weight, p.labels, at::kFloat);
      // Nothing is added before the backward pass, which may never come.
      EXPECT_EQ(memory.abs().max().item<float>() > 0.0F, times == 2);
      torch::autograd::backward({loss}, {at::full({}, 0.37F)});
      EXPECT_TRUE(p.weight.grad().is_same(memory));
      EXPECT_LT(Distance(memory, want[1].mul(times)), 2e-6);
    }
  }
}

TEST(HeadLossTest, WithoutGradientModeTheLossIsTheSame) {
  for (const auto& [rows, vocabulary] : kShapes) {
    const Problem p = MakeProblem(rows, vocabulary, at::kFloat);
    const at::Tensor with = HeadLoss(p.x, p.weight, p.labels, at::kFloat);
    const at::NoGradGuard guard;
    const at::Tensor without = HeadLoss(p.x, p.weight, p.labels, at::kFloat);
    EXPECT_FALSE(without.requires_grad());
    EXPECT_TRUE(at::equal(with, without));
  }
}

TEST(HeadLossTest, RowsWithoutLabelsHaveNoLossAndNoGradient) {
  for (const auto& [rows, vocabulary] : kShapes) {
    Problem p = MakeProblem(rows, vocabulary, at::kFloat);
    p.labels.fill_(kIgnoredLabel);
    const at::Tensor loss = HeadLoss(p.x, p.weight, p.labels, at::kFloat);
    EXPECT_EQ(loss.item<float>(), 0.0F);
    for (const at::Tensor& gradient : Gradients(loss, p)) {
      EXPECT_EQ(gradient.abs().max().item<float>(), 0.0F);
    }
  }
}

// Softmax alone would give it a probability of 0, and an infinite loss.
TEST(HeadLossTest, AHopelessLabelHasAFiniteLoss) {
  Problem p = MakeProblem(40, 300, at::kFloat);
  p.x.detach().mul_(1000);
  const at::Tensor loss = HeadLoss(p.x, p.weight, p.labels, at::kFloat);
  EXPECT_GT(loss.item<float>(), 40 * 1000.0F);
  EXPECT_LT(Distance(loss, Whole(p, at::kFloat)), 1e-6);
}

TEST(HeadLossTest, ALabelOutsideTheVocabularyIsRefused) {
  for (const int64_t label : {int64_t{300}, int64_t{-1}}) {
    Problem p = MakeProblem(40, 300, at::kFloat);
    p.labels[5] = label;
    std::optional<std::string> message;
    try {
      HeadLoss(p.x, p.weight, p.labels, at::kFloat);
    } catch (const c10::Error& error) {
      message = error.what_without_backtrace();
    }
    ASSERT_TRUE(message.has_value());
    EXPECT_NE(message->find("Target " + std::to_string(label) + " is out of bounds"),
              std::string::npos)
        << *message;
  }
}

TEST(HeadLossTest, ALossThatIsNotANumberStaysThat) {
  Problem p = MakeProblem(100, 90'000, at::kFloat);
  p.x.detach()[90].fill_(std::numeric_limits<float>::quiet_NaN());
  const float loss = HeadLoss(p.x, p.weight, p.labels, at::kFloat).item<float>();
  EXPECT_TRUE(std::isnan(loss));
}

}  // namespace
}  // namespace muster::trainer
