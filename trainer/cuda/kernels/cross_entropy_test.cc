#include "trainer/cuda/kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/cuda/kernels/kernel_test_util.h"

namespace muster::trainer::cuda {
namespace {

constexpr int64_t kIgnored = -100;

struct Exact {
  std::vector<double> losses, gradient;
};

Exact Compute(const std::vector<double>& logits, const std::vector<int64_t>& labels,
              double gradient_scale) {
  const size_t vocabulary = logits.size() / labels.size();
  Exact exact{std::vector<double>(labels.size()), std::vector<double>(logits.size())};
  for (size_t r = 0; r < labels.size(); ++r) {
    if (labels[r] == kIgnored) continue;
    const double* row = &logits[r * vocabulary];
    const double most = *std::max_element(row, row + vocabulary);
    double sum = 0;
    for (size_t i = 0; i < vocabulary; ++i) sum += std::exp(row[i] - most);
    const auto label = static_cast<size_t>(labels[r]);
    exact.losses[r] = std::log(sum) + most - row[label];
    for (size_t i = 0; i < vocabulary; ++i) {
      exact.gradient[r * vocabulary + i] =
          gradient_scale * (std::exp(row[i] - most) / sum - (i == label ? 1.0 : 0.0));
    }
  }
  return exact;
}

void ExpectExact(Element element, int64_t rows, int64_t vocabulary, double deviation,
                 size_t shift) {
  Dice dice;
  SCOPED_TRACE(testing::Message() << "seed " << dice.seed() << ", " << rows << " x " << vocabulary
                                  << ", deviation " << deviation << ", shift " << shift);
  constexpr float kScale = 0.125f;
  const std::vector<double> values = dice.Normal(rows * vocabulary, deviation, element);
  std::vector<int64_t> label_values;
  for (int64_t r = 0; r < rows; ++r) {
    label_values.push_back(r % 3 == 1 ? kIgnored : dice.Below(vocabulary));
  }
  const Exact exact = Compute(values, label_values, kScale);
  const DeviceArray<int64_t> labels(label_values);
  for (int order = 0; order < kThreadOrders; ++order) {
    UseThreadOrder(order);
    const DeviceValues logits(element, values, shift), losses(Element::kFloat, rows);
    ASSERT_TRUE(LaunchCrossEntropy({.rows = rows,
                                    .vocabulary = vocabulary,
                                    .element = element,
                                    .logits = logits.data(),
                                    .labels = labels.data(),
                                    .ignored = kIgnored,
                                    .gradient_scale = kScale,
                                    .losses = losses.floats()},
                                   nullptr)
                    .ok());
    ExpectNear(losses, exact.losses, Element::kFloat, deviation + 4, "loss");
    ExpectNear(logits, exact.gradient, element, kScale * (1 + deviation), "gradient");
  }
}

TEST(CrossEntropyTest, LossAndGradientAreNearTheirTwinsInFp64) {
  for (const Element element : {Element::kFloat, Element::kBfloat16}) {
    ExpectExact(element, 4, 3, 1.0, 0);
    ExpectExact(element, 5, 2500, 2.0, 0);
    ExpectExact(element, 3, 1037, 2.0, 1);
    ExpectExact(element, 2, 601, 300.0, 0);  // exponentials of the logits themselves overflow
    ExpectExact(element, 1, 1, 1.0, 0);
  }
}

TEST(CrossEntropyTest, RowsOfAnyWidthAndPlaceAreNearTheirTwinsInFp64) {
  for (const Element element : {Element::kFloat, Element::kBfloat16}) {
    ExpectExact(element, 3, 5, 1.0, 3);      // shorter than a run
    ExpectExact(element, 2, 50257, 2.0, 0);  // each row begins elsewhere
    ExpectExact(element, 1, 50304, 2.0, 0);
    ExpectExact(element, 1, 128256, 20.0, 5);
  }
}

struct Outcome {
  std::vector<double> losses, gradient;
};

Outcome LossesOf(const std::vector<double>& values, const std::vector<int64_t>& label_values,
                 Element element = Element::kFloat) {
  const auto rows = static_cast<int64_t>(label_values.size());
  const DeviceValues logits(element, values), losses(Element::kFloat, rows);
  const DeviceArray<int64_t> labels(label_values);
  EXPECT_TRUE(LaunchCrossEntropy({.rows = rows,
                                  .vocabulary = static_cast<int64_t>(values.size()) / rows,
                                  .element = element,
                                  .logits = logits.data(),
                                  .labels = labels.data(),
                                  .losses = losses.floats()},
                                 nullptr)
                  .ok());
  return {losses.Read(), logits.Read()};
}

TEST(CrossEntropyTest, AMaskedLogitHasNoShare) {
  const double masked = -std::numeric_limits<double>::infinity();
  for (const Element element : {Element::kFloat, Element::kBfloat16}) {
    const Outcome outcome = LossesOf({masked, 0.0, 0.0}, {2}, element);
    EXPECT_NEAR(outcome.losses[0], std::log(2.0), 1e-6);
    EXPECT_EQ(outcome.gradient, (std::vector<double>{0.0, 0.5, -0.5}));
  }
}

TEST(CrossEntropyTest, ALogitThatIsNotANumberMakesTheLossNone) {
  for (const Element element : {Element::kFloat, Element::kBfloat16}) {
    EXPECT_TRUE(std::isnan(LossesOf({NAN, 0.0, 0.0}, {2}, element).losses[0]));
  }
}

TEST(CrossEntropyTest, ALabelThatIsNoColumnMakesTheLossNoNumberAndGivesNoGradient) {
  for (const int64_t label : {int64_t{3}, int64_t{-1}}) {
    const Outcome outcome = LossesOf({1.0, 2.0, 3.0}, {label});
    EXPECT_TRUE(std::isnan(outcome.losses[0]));
    EXPECT_EQ(outcome.gradient, (std::vector<double>{0.0, 0.0, 0.0}));
  }
}

TEST(CountValidTest, CountsTheLabelsThatAreNotIgnored) {
  Dice dice;
  SCOPED_TRACE(testing::Message() << "seed " << dice.seed());
  for (const int64_t count : {0, 1, 1023, 5000}) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(dice.Below(3) == 0 ? kIgnored : i);
    const DeviceArray<int64_t> labels(values), valid(1);
    ASSERT_TRUE(LaunchCountValid(labels.data(), count, kIgnored, valid.data(), nullptr).ok());
    EXPECT_EQ(valid.Read()[0], count - std::count(values.begin(), values.end(), kIgnored));
    EXPECT_TRUE(valid.GuardHolds());
  }
}

}  // namespace
}  // namespace muster::trainer::cuda
