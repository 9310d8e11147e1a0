#include "planner/fp8.h"

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "planner/model_presets.h"

namespace muster::planner {
namespace {

constexpr char kWhy[] =
    "train.precision: fp8 multiplies matrices whose dimensions are multiples of 16, and ";

ModelShape Gpt2(int32_t heads, int32_t width) {
  return CompleteShape({.layers = 2, .heads = heads, .width = width, .positions = 64});
}

ModelShape Llama(int32_t heads, int32_t key_value_heads, int32_t width, int32_t feed_forward) {
  return CompleteShape({.family = ModelFamily::kLlama,
                        .layers = 2,
                        .heads = heads,
                        .width = width,
                        .positions = 64,
                        .key_value_heads = key_value_heads,
                        .feed_forward_width = feed_forward});
}

void ExpectRefused(const ModelShape& shape, int64_t micro_batch, int64_t sequence,
                   const std::string& why) {
  EXPECT_EQ(CheckFp8(shape, micro_batch, sequence), absl::InvalidArgumentError(kWhy + why));
}

TEST(CheckFp8Test, EveryPresetFits) {
  for (const ModelPreset& preset : ModelPresets()) {
    EXPECT_TRUE(CheckFp8(CompleteShape(preset.shape), 1, 64).ok()) << preset.name;
  }
}

TEST(CheckFp8Test, AWidthThatDoesNotFitIsNamedWithTheNextThatDoes) {
  ExpectRefused(Gpt2(4, 100), 2, 32, "model.width is 100: 112 would do");
  ExpectRefused(Gpt2(5, 100), 2, 32, "model.width is 100: 160 would do");
  EXPECT_TRUE(CheckFp8(Gpt2(5, 160), 2, 32).ok());
  ExpectRefused(Llama(16, 1, 128, 192), 2, 32,
                "model.keyValueHeads is 1 with 8 numbers each: model.width 256 would do");
  EXPECT_TRUE(CheckFp8(Llama(16, 1, 256, 192), 2, 32).ok());
  ExpectRefused(Llama(4, 2, 64, 200), 2, 32, "model.feedForwardWidth is 200: 208 would do");
}

TEST(CheckFp8Test, AMicroBatchNeedsAMultipleOf16Tokens) {
  const ModelShape shape = Gpt2(4, 64);
  ExpectRefused(shape, 3, 20, "train.microBatch x train.sequence is 3 x 20: sequence 32 would do");
  ExpectRefused(shape, 4, 30, "train.microBatch x train.sequence is 4 x 30: sequence 32 would do");
  ExpectRefused(shape, 1, 63, "train.microBatch x train.sequence is 1 x 63: sequence 64 would do");
  ModelShape short_one = shape;
  short_one.positions = 60;
  ExpectRefused(short_one, 1, 57,
                "train.microBatch x train.sequence is 1 x 57: sequence 48 would do");
  short_one.positions = 10;
  ExpectRefused(short_one, 1, 10,
                "train.microBatch x train.sequence is 1 x 10: microBatch 16 would do");
  EXPECT_TRUE(CheckFp8(shape, 4, 20).ok());
  EXPECT_TRUE(CheckFp8(shape, 16, 1).ok());
}

TEST(CheckFp8Test, EachOfTheRanksThatDivideASequenceNeedsAMultipleOf16Tokens) {
  const ModelShape shape = Gpt2(4, 64);
  EXPECT_TRUE(CheckFp8(shape, 2, 32, 1, 4).ok());
  EXPECT_EQ(CheckFp8(shape, 2, 24, 1, 4),
            absl::InvalidArgumentError(
                "train.precision: fp8 multiplies matrices whose dimensions are multiples of 16 on "
                "each of 4 ranks, and train.microBatch x train.sequence is 2 x 24: sequence 32 "
                "would do"));
}

TEST(CheckFp8Test, EachOfTheRanksThatDivideALayerMultipliesMatricesThatFit) {
  EXPECT_TRUE(CheckFp8(Llama(16, 4, 256, 192), 2, 32, 2).ok());
  const absl::Status narrow = CheckFp8(Llama(16, 4, 256, 208), 2, 32, 2);
  EXPECT_EQ(narrow, absl::InvalidArgumentError(
                        "train.precision: fp8 multiplies matrices whose dimensions are multiples "
                        "of 16 on each of 2 ranks, and model.feedForwardWidth is 208: 224 would "
                        "do"));
}

}  // namespace
}  // namespace muster::planner
