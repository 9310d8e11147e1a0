#include "trainer/parallel/unit.h"

#include <memory>
#include <utility>
#include <vector>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
#include "gtest/gtest.h"
#include "trainer/parallel/flat_memory.h"

namespace muster::trainer {
namespace {

constexpr Division kAll = {.values = true, .gradients = true};

// Returns a unit of 100 x 100 weights, in three chunks.
Unit Weights() {
  UnitLayout layout{.name = "h.0", .users = {0}};
  const ParameterSpec spec{.name = "h.0.weight",
                           .shape = {100, 100},
                           .init = {.kind = Initialization::Kind::kNormal, .deviation = 0.1}};
  layout.tensors = {{.spec = spec, .shape = spec.shape, .offset = 0, .size = 10'000}};
  layout.decay_elements = layout.elements = 3 * kChunkElements;
  return Unit(std::move(layout), at::kDouble);
}

void Gather(const Unit& unit, const at::Tensor& values) {
  unit.AllocateValues();
  unit.values().copy_(values);
}

TEST(UnitTest, SlicesOfWholeMemoryAreViewsAndOthersHaveTheirOwn) {
  Unit unit = Weights();
  unit.Hold(unit.MakeSlice({1, 2}, {}));
  EXPECT_TRUE(HasMemory(unit.values()) && HasMemory(unit.gradients()));
  unit.values().fill_(2.0);
  EXPECT_TRUE(at::equal(unit.held().values, at::full({kChunkElements}, 2.0, at::kDouble)));
  unit.Hold(unit.MakeSlice({1, 2}, {.gradients = true}));
  EXPECT_TRUE(HasMemory(unit.values()));
  EXPECT_FALSE(HasMemory(unit.gradients()));
  EXPECT_EQ(unit.held().gradients.numel(), kChunkElements);
  unit.Hold(unit.MakeSlice({1, 3}, kAll));
  EXPECT_FALSE(HasMemory(unit.values()));
  EXPECT_EQ(unit.held().values.numel(), 2 * kChunkElements);
  // Nothing of what it was before may be left in memory that is whole again.
  unit.Hold(unit.MakeSlice({0, 3}, {}));
  EXPECT_EQ(unit.values().abs().sum().item<double>(), 0.0);
}

TEST(UnitTest, AnySliceHasTheInitialValuesOfTheWhole) {
  Unit whole = Weights();
  whole.Hold(whole.MakeSlice({0, 3}, {}));
  whole.Initialize(7);
  EXPECT_GT(whole.values().abs().sum().item<double>(), 0.0);
  for (int64_t chunk = 0; chunk < 3; ++chunk) {
    Unit part = Weights();
    part.Hold(part.MakeSlice({chunk, chunk + 1}, kAll));
    part.Initialize(7);
    EXPECT_FALSE(HasMemory(part.values()));
    EXPECT_TRUE(at::equal(part.held().values,
                          whole.values().narrow(0, chunk * kChunkElements, kChunkElements)));
  }
}

// Autograd keeps views for the backward pass, whose memory is freed and comes back, perhaps
// elsewhere.
TEST(UnitTest, ValuesThatWereFreedAfterTheForwardPassServeTheBackwardPass) {
  Unit unit = Weights();
  unit.Hold(unit.MakeSlice({0, 1}, kAll));
  const at::Tensor values = at::full({3 * kChunkElements}, 0.5, at::kDouble);
  at::Tensor input = at::ones({4, 100}, at::kDouble);
  input.requires_grad_(true);
  Gather(unit, values);
  const at::Tensor loss = input.matmul(unit.parameters()[0]).pow(2).sum();
  unit.ReleaseValues();
  EXPECT_FALSE(HasMemory(unit.values()));
  Gather(unit, values);
  unit.AllocateGradients();
  loss.backward();
  // Each output is 50, so that its gradient is 100: times 0.5 by 100 columns, and times 4 rows
  // of 1.
  EXPECT_TRUE(at::equal(input.grad(), at::full({4, 100}, 5000.0, at::kDouble)));
  EXPECT_TRUE(
      at::equal(unit.gradients().narrow(0, 0, 10'000), at::full({10'000}, 400.0, at::kDouble)));
  EXPECT_TRUE(unit.CheckViews().ok()) << unit.CheckViews();
  unit.ReleaseGradients();
  EXPECT_TRUE(unit.CheckViews().ok()) << unit.CheckViews();
  unit.AllocateGradients();
  EXPECT_EQ(unit.gradients().abs().sum().item<double>(), 0.0);
}

TEST(UnitTest, AGradientThatWasReplacedIsFound) {
  Unit unit = Weights();
  unit.Hold(unit.MakeSlice({0, 3}, {}));
  at::Tensor parameter = unit.parameters()[0];
  parameter.mutable_grad() = at::ones({100, 100}, at::kDouble);
  EXPECT_EQ(unit.CheckViews().message(), "h.0.weight is no longer a view of unit h.0");
}

}  // namespace
}  // namespace muster::trainer
