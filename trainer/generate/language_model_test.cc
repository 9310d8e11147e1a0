#include "trainer/generate/language_model.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/manual_clock.h"
#include "base/testing/memory_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/data_type.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/checkpoint/writer.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/model/parameter.h"

namespace muster::trainer {
namespace {

using ::testing::HasSubstr;

constexpr char kUri[] = "/ck";
constexpr char kPath[] = "/ck/step-000000001";

Json ConfigOf(int64_t layers = 1) {
  return {{"model_type", "gpt2"}, {"n_layer", layers}, {"n_head", 2},
          {"n_embd", 8},          {"n_positions", 4},  {"vocab_size", 5}};
}

// Saves checkpoints without a tokenizer, which differ only in their `config`.
class LanguageModelTest : public testing::Test {
 protected:
  void Save(const Json& config) {
    const auto model =
        MakeModel({.layers = 1, .heads = 2, .width = 8, .positions = 4, .vocabulary = 5});
    ASSERT_TRUE(model.ok());
    std::map<std::string, std::pair<std::vector<int64_t>, std::vector<float>>> tensors;
    for (const auto& block : model->blocks) {
      for (const ParameterSpec& spec : block->parameters()) {
        std::vector<float> values(*ElementCount(spec.shape));
        for (size_t i = 0; i < values.size(); ++i) {
          values[i] = std::sin(static_cast<float>(i + spec.name.size()));
        }
        tensors[spec.name] = {spec.shape, std::move(values)};
      }
    }
    Snapshot snapshot;
    snapshot.run.job = "job";
    snapshot.run.step = 1;
    snapshot.run.vocabulary = 5;
    snapshot.run.model = config;
    for (const auto& [name, tensor] : tensors) {
      snapshot.tensors.push_back({name, TensorGroup::kModel, DataType::kF32, tensor.first,
                                  std::as_bytes(std::span(tensor.second))});
    }
    CheckpointWriter writer(files_, clock_, {.uri = kUri, .start_thread = false},
                            [](const v1alpha1::CheckpointReport&) {});
    ASSERT_TRUE(writer.Begin(snapshot).ok());
    while (writer.RunOnce()) {
    }
  }

  std::string WhyNot() {
    const auto model = LanguageModel::Open(files_, kPath);
    EXPECT_FALSE(model.ok());
    return std::string(model.status().message());
  }

  MemoryFiles files_;
  ManualClock clock_;
};

TEST_F(LanguageModelTest, ACallDoesNotChangeTheLogitsOfTheNext) {
  Save(ConfigOf());
  const auto model = LanguageModel::Open(files_, kPath);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->positions(), 4);
  EXPECT_EQ((*model)->vocabulary(), 5);
  EXPECT_EQ((*model)->tokenizer(), nullptr);
  const auto one = (*model)->NextLogits(std::vector<uint32_t>{3});
  const auto two = (*model)->NextLogits(std::vector<uint32_t>{3, 1});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->size(), 5U);
  EXPECT_NE(*one, *two);
  EXPECT_EQ(*one, *(*model)->NextLogits(std::vector<uint32_t>{3})) << "a call left something";
}

TEST_F(LanguageModelTest, InvalidTokensAreNamed) {
  Save(ConfigOf());
  const auto model = LanguageModel::Open(files_, kPath);
  ASSERT_TRUE(model.ok()) << model.status();
  for (const auto& [tokens, why] : std::map<std::vector<uint32_t>, std::string>{
           {{}, "0 tokens"}, {{0, 0, 0, 0, 0}, "5 tokens, want 1 to 4"}, {{5}, "token 5"}}) {
    const auto logits = (*model)->NextLogits(tokens);
    EXPECT_EQ(logits.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(logits.status().message()), HasSubstr(why));
  }
}

TEST_F(LanguageModelTest, AnotherModelIsRefused) {
  Save({{"model_type", "mamba"}});
  EXPECT_THAT(WhyNot(), HasSubstr("model_type is not supported: it is \"mamba\""));
}

TEST_F(LanguageModelTest, AModelThatDoesNotFitTheTensorsIsRefused) {
  Save(ConfigOf(/*layers=*/2));
  EXPECT_THAT(WhyNot(), HasSubstr("transformer.h.1."));
}

TEST_F(LanguageModelTest, ANumberOutOfRangeIsNamed) {
  Save(ConfigOf(/*layers=*/int64_t{1} << 40));
  EXPECT_THAT(WhyNot(), HasSubstr("n_layer"));
}

TEST_F(LanguageModelTest, AFolderWithoutACheckpointIsRefused) {
  EXPECT_EQ(LanguageModel::Open(files_, "/nowhere").status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace muster::trainer
