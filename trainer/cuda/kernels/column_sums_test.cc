#include "trainer/cuda/kernels/column_sums.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/cuda/kernels/kernel_test_util.h"

namespace muster::trainer::cuda {
namespace {

void ExpectSums(int64_t rows, int64_t width, Element element, size_t shift) {
  Dice dice;
  SCOPED_TRACE(testing::Message() << "seed " << dice.seed() << ", " << rows << " x " << width
                                  << ", shift " << shift);
  const std::vector<double> values = dice.Normal(rows * width, 1.0, element);
  std::vector<double> exact(static_cast<size_t>(width));
  for (size_t i = 0; i < values.size(); ++i) exact[i % exact.size()] += values[i];
  const DeviceValues matrix(element, values, shift), sums(Element::kFloat, width);
  const DeviceValues workspace(Element::kFloat, ColumnSumsWorkspace(rows, width));
  for (int order = 0; order < kThreadOrders; ++order) {
    UseThreadOrder(order);
    ASSERT_TRUE(LaunchColumnSums({.rows = rows,
                                  .width = width,
                                  .element = element,
                                  .matrix = matrix.data(),
                                  .sums = sums.floats(),
                                  .workspace = workspace.floats()},
                                 nullptr)
                    .ok());
    ExpectNear(sums, exact, Element::kFloat, static_cast<double>(rows), "sums");
    EXPECT_TRUE(workspace.GuardHolds());
  }
}

TEST(ColumnSumsTest, AreNearTheirTwinInFp64) {
  for (const Element element : {Element::kFloat, Element::kBfloat16}) {
    ExpectSums(700, 264, element, 0);
    ExpectSums(9000, 8, element, 0);
    ExpectSums(3, 1000, element, 0);
    ExpectSums(100, 33, element, 0);
    ExpectSums(50, 64, element, 1);
    ExpectSums(1, 1, element, 0);
  }
}

TEST(ColumnSumsTest, NoRowsHaveSumsOfZero) { ExpectSums(0, 40, Element::kFloat, 0); }

}  // namespace
}  // namespace muster::trainer::cuda
