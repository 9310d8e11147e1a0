#include "trainer/parallel/unit_layout.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

ParameterSpec Spec(std::string name, std::vector<int64_t> shape, bool decay) {
  return {.name = std::move(name), .shape = std::move(shape), .decay = decay};
}

TEST(LayOutModelTest, GivesSharedTensorsAUnitOfTheirOwnWithAllUsers) {
  const auto layout =
      LayOutModel({{"embedding", {Spec("wte", {100, 8}, true)}},
                   {"layer", {Spec("bias", {3}, false), Spec("w", {7, 9}, true)}},
                   {"head", {Spec("wte", {100, 8}, true), Spec("ln", {8}, false)}}});
  ASSERT_TRUE(layout.ok()) << layout.status();
  ASSERT_EQ(layout->units.size(), 3);
  EXPECT_EQ(layout->units[0].name, "wte");
  EXPECT_EQ(layout->units[0].users, (std::vector<int>{0, 2}));
  EXPECT_EQ(layout->units[1].name, "layer");
  EXPECT_EQ(layout->units[2].users, (std::vector<int>{2}));
  EXPECT_EQ(layout->places[2][0].unit, 0);
  EXPECT_EQ(layout->places[2][1].unit, 2);
}

TEST(LayOutModelTest, PutsDecayedTensorsFirstAlignsTensorsAndFillsChunks) {
  const auto layout = LayOutModel(
      {{"layer", {Spec("bias", {3}, false), Spec("w", {7, 9}, true), Spec("v", {4096}, true)}}});
  ASSERT_TRUE(layout.ok());
  const UnitLayout& unit = layout->units[0];
  EXPECT_EQ(unit.tensors[0].spec.name, "w");
  EXPECT_EQ(unit.tensors[1].spec.name, "v");
  EXPECT_EQ(unit.tensors[1].offset, 64);
  EXPECT_EQ(unit.tensors[2].spec.name, "bias");
  EXPECT_EQ(unit.tensors[2].offset, 64 + 4096);
  EXPECT_EQ(unit.decay_elements, 64 + 4096);
  EXPECT_EQ(unit.elements, 2 * kChunkElements);
  EXPECT_EQ(unit.chunks(), 2);
  EXPECT_EQ(layout->places[0][0].tensor, 2);
}

TEST(LayOutModelTest, RefusesBlocksThatDisagree) {
  EXPECT_EQ(LayOutModel({{"a", {Spec("w", {2}, true)}}, {"b", {Spec("w", {3}, true)}}})
                .status()
                .message(),
            "blocks a and b declare w differently");
  EXPECT_EQ(LayOutModel({{"a", {Spec("w", {2}, true), Spec("w", {2}, true)}}}).status().message(),
            "block a declares w twice");
}

}  // namespace
}  // namespace muster::trainer
