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

TEST(LayOutModelTest, APartHasDividedTensorsInOneUnitAndWholeOnesInAnother) {
  ParameterSpec w = Spec("w", {96, 100}, true);
  w.partition = {.dimension = 1, .pieces = 4};
  ParameterSpec wte = Spec("wte", {101, 96}, true);
  wte.partition = {.dimension = 0, .pieces = 101, .uneven = true};
  const std::vector<BlockParameters> blocks = {
      {"embedding", {wte}}, {"layer", {Spec("gain", {96}, false), w}}, {"head", {wte}}};
  int64_t chunks = 0;
  for (int index = 0; index < 2; ++index) {
    const auto layout = LayOutModel(blocks, {index, 2});
    ASSERT_TRUE(layout.ok()) << layout.status();
    ASSERT_EQ(layout->units.size(), 3);
    const UnitLayout &shared = layout->units[0], &own = layout->units[1], &whole = layout->units[2];
    EXPECT_TRUE(shared.is_part && own.is_part && !whole.is_part);
    EXPECT_EQ(shared.tensors[0].shape, (std::vector<int64_t>{50 + index, 96}));
    EXPECT_EQ(own.tensors[0].shape, (std::vector<int64_t>{96, 50}));
    EXPECT_EQ(own.tensors[0].spec.shape, (std::vector<int64_t>{96, 100}));
    EXPECT_EQ(whole.tensors[0].shape, (std::vector<int64_t>{96}));
    EXPECT_EQ(whole.name, "layer, whole");
    EXPECT_EQ(layout->places[1][0].unit, 2);
    EXPECT_EQ(layout->places[1][1].unit, 1);
    // The chunks of both parts have numbers of their own.
    EXPECT_EQ(shared.earlier_chunks, chunks);
    EXPECT_EQ(shared.all_chunks(), 4);
    EXPECT_EQ(whole.earlier_chunks, 0);
    EXPECT_EQ(whole.all_chunks(), 1);
    chunks += shared.chunks();
  }
}

TEST(LayOutModelTest, ATensorThatCannotBeDividedSoIsRefusedByName) {
  ParameterSpec w = Spec("w", {96, 100}, true);
  w.partition = {.dimension = 1, .pieces = 4};
  EXPECT_EQ(LayOutModel({{"layer", {w}}}, {0, 3}).status().message(),
            "w: 4 pieces cannot be shared by 3 ranks; the nearest numbers are 2 or 4");
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
