#include "trainer/cuda/kernels/adamw.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/cuda/kernels/kernel_test_util.h"

namespace muster::trainer::cuda {
namespace {

// One run, on the device and as FP64 twin.
struct TestedRun {
  TestedRun(int64_t count, double decay_rate, bool with_copy, size_t shift, Dice& dice)
      : decay(decay_rate),
        value(dice.Normal(count, 1.0, Element::kFloat)),
        gradient(dice.Normal(count, 0.1, Element::kFloat)),
        first(dice.Normal(count, 0.1, Element::kFloat)),
        second(dice.Normal(count, 0.1, Element::kFloat)) {
    for (double& v : second) v = Rounded(Element::kFloat, v * v);
    values = std::make_unique<DeviceValues>(Element::kFloat, value, shift);
    gradients = std::make_unique<DeviceValues>(Element::kFloat, gradient);
    firsts = std::make_unique<DeviceValues>(Element::kFloat, first);
    seconds = std::make_unique<DeviceValues>(Element::kFloat, second);
    if (with_copy) copies = std::make_unique<DeviceValues>(Element::kBfloat16, count);
  }

  AdamWRun Arguments() const {
    return {.values = values->floats(),
            .gradients = gradients->floats(),
            .first = firsts->floats(),
            .second = seconds->floats(),
            .copy = copies ? copies->data() : nullptr,
            .count = static_cast<int64_t>(value.size()),
            .decay = static_cast<float>(decay)};
  }

  void UpdateTwin(const AdamWStep& step) {
    const auto update = static_cast<double>(step.update);
    for (size_t i = 0; i < value.size(); ++i) {
      const double g = gradient[i] * step.gradient_scale;
      first[i] = step.beta1 * first[i] + (1 - step.beta1) * g;
      second[i] = step.beta2 * second[i] + (1 - step.beta2) * g * g;
      const double mean = first[i] / (1 - std::pow(step.beta1, update));
      const double square = second[i] / (1 - std::pow(step.beta2, update));
      value[i] -=
          step.learning_rate * (decay * value[i] + mean / (std::sqrt(square) + step.epsilon));
    }
  }

  void ExpectTwin() const {
    ExpectNear(*values, value, Element::kFloat, 1, "values");
    ExpectNear(*firsts, first, Element::kFloat, 1, "first");
    ExpectNear(*seconds, second, Element::kFloat, 0.1, "second");
    if (copies) ExpectNear(*copies, value, Element::kBfloat16, 1, "copy");
  }

  double decay;
  std::vector<double> value, gradient, first, second;
  std::unique_ptr<DeviceValues> values, gradients, firsts, seconds, copies;
};

void ExpectTwins(std::vector<std::unique_ptr<TestedRun>> runs) {
  std::vector<AdamWRun> arguments;
  for (const auto& run : runs) arguments.push_back(run->Arguments());
  for (const int64_t update : {1, 2, 3}) {
    const AdamWStep step{.update = update,
                         .learning_rate = 3e-3,
                         .beta1 = 0.9,
                         .beta2 = 0.95,
                         .epsilon = 1e-8,
                         .gradient_scale = 0.75};
    ASSERT_TRUE(LaunchAdamW(arguments, step, nullptr).ok());
    for (const auto& run : runs) run->UpdateTwin(step);
  }
  for (size_t r = 0; r < runs.size(); ++r) {
    SCOPED_TRACE(testing::Message() << "run " << r);
    runs[r]->ExpectTwin();
  }
}

TEST(AdamWTest, ThreeUpdatesOfRunsOfAllSizesAreNearTheirTwins) {
  Dice dice;
  SCOPED_TRACE(testing::Message() << "seed " << dice.seed());
  std::vector<std::unique_ptr<TestedRun>> runs;
  runs.push_back(std::make_unique<TestedRun>(9000, 0.1, true, 0, dice));
  runs.push_back(std::make_unique<TestedRun>(1, 0.0, false, 0, dice));
  runs.push_back(std::make_unique<TestedRun>(0, 0.1, false, 0, dice));
  runs.push_back(std::make_unique<TestedRun>(4096, 0.0, true, 1, dice));
  runs.push_back(std::make_unique<TestedRun>(4099, 0.1, false, 0, dice));
  ExpectTwins(std::move(runs));
}

TEST(AdamWTest, MoreRunsThanOneLaunchTakesAreAllUpdated) {
  Dice dice;
  SCOPED_TRACE(testing::Message() << "seed " << dice.seed());
  std::vector<std::unique_ptr<TestedRun>> runs;
  for (int r = 0; r < 67; ++r) runs.push_back(std::make_unique<TestedRun>(r, 0.1, r % 2, 0, dice));
  ExpectTwins(std::move(runs));
}

TEST(AdamWTest, NoRunsAreNoWork) { EXPECT_TRUE(LaunchAdamW({}, {}, nullptr).ok()); }

}  // namespace
}  // namespace muster::trainer::cuda
