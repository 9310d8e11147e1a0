// Tests what the families declare about dividing their parameters among the ranks of a tensor axis.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "planner/model_shape.h"
#include "trainer/model/block.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/model/parameter.h"
#include "trainer/model/partition.h"
#include "trainer/random/element_run.h"
#include "trainer/random/fill.h"

namespace muster::trainer {
namespace {

constexpr int kParts = 2;

planner::ModelShape Shape(planner::ModelFamily family) {
  planner::ModelShape shape = {
      .family = family, .layers = 1, .heads = 4, .width = 32, .positions = 16, .vocabulary = 64};
  if (family == planner::ModelFamily::kLlama) {
    shape.key_value_heads = 2;
    shape.feed_forward_width = 48;
  }
  return shape;
}

int64_t Size(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::vector<float> Draw(const ParameterSpec& spec, const std::vector<ElementRun>& runs,
                        int64_t size) {
  std::vector<float> out(static_cast<size_t>(size));
  FillNormal({.seed = 11, .name = spec.name, .deviation = 1.0}, runs, out);
  return out;
}

class FamilyPartitionTest : public testing::TestWithParam<planner::ModelFamily> {};

TEST_P(FamilyPartitionTest, TheRanksOfATensorAxisDrawTheBitsOfTheWholeParameters) {
  const auto model = MakeModel(Shape(GetParam()));
  ASSERT_TRUE(model.ok()) << model.status();
  int divided = 0;
  for (const auto& block : model->blocks) {
    for (const ParameterSpec& spec : block->parameters()) {
      ASSERT_TRUE(CheckParts(spec.partition, kParts).ok()) << spec.name;
      const int64_t size = Size(spec.shape);
      const int64_t part_size = Size(ShapeOfPart(spec.shape, spec.partition, {0, kParts}));
      const std::vector<float> whole = Draw(spec, {{0, size}}, size);
      std::vector<int> holders(static_cast<size_t>(size));
      for (int part = 0; part < kParts; ++part) {
        const std::vector<ElementRun> runs = RunsOfPart(spec.shape, spec.partition, {part, kParts});
        std::vector<float> want;
        for (const ElementRun& run : runs) {
          for (int64_t i = run.begin; i < run.begin + run.count; ++i) {
            ++holders[static_cast<size_t>(i)];
            want.push_back(whole[static_cast<size_t>(i)]);
          }
        }
        EXPECT_EQ(Draw(spec, runs, part_size), want) << spec.name << ", part " << part;
      }
      divided += spec.partition.dimension >= 0;
      const int times = spec.partition.dimension >= 0 ? 1 : kParts;
      EXPECT_EQ(holders, std::vector<int>(holders.size(), times)) << spec.name;
    }
  }
  EXPECT_GE(divided, 6);
}

TEST_P(FamilyPartitionTest, OnlyNormsPositionsAndBiasesOfSumsAreOnEveryRank) {
  const auto model = MakeModel(Shape(GetParam()));
  ASSERT_TRUE(model.ok()) << model.status();
  for (const auto& block : model->blocks) {
    for (const ParameterSpec& spec : block->parameters()) {
      const bool matrix = spec.shape.size() == 2 && !absl::StrContains(spec.name, "wpe");
      EXPECT_TRUE(spec.partition.dimension >= 0 || !matrix) << spec.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyPartitionTest,
                         testing::Values(planner::ModelFamily::kGpt2, planner::ModelFamily::kLlama,
                                         planner::ModelFamily::kBloom));

}  // namespace
}  // namespace muster::trainer
