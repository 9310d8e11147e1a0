// Tests that a run begins with the weights of a directory, here of another run's checkpoint.
#include "trainer/process/pretrained_initial_weights.h"

#include <memory>
#include <string>
#include <vector>

#include "ATen/ops/equal.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/memory_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/model_shape.h"
#include "trainer/engine/store/checkpoint_store.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/thread_rounds.h"

namespace muster::trainer {
namespace {

using ::testing::HasSubstr;

constexpr char kFolder[] = "/ck/step-000000005";

// A state that has trained for five steps, and its checkpoint.
class PretrainedInitialWeightsTest : public ::testing::Test {
 protected:
  PretrainedInitialWeightsTest() : trained_(TinyOptions()) {
    trained_.Losses(5);
    CheckpointStore store(files_, Clock::Real(), "/ck", 3,
                          RunIdentity{.job = "default/job", .job_uid = "uid", .vocabulary = 61},
                          outbox_);
    EXPECT_TRUE(store.Save(*trained_.state, {}).ok());
    EXPECT_TRUE(store.WaitIdle(absl::Minutes(1)));
  }
  absl::Status Load(TrainingState& state) {
    PretrainedInitialWeights weights(files_, kFolder, state.model(), "model.vocabulary");
    return LoadInitialWeights(weights, state);
  }
  std::string Error(const planner::ModelShape& shape) {
    const auto state = MakeState(TinyOptions(), shape);
    const absl::Status status = Load(*state);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }

  MemoryFiles files_;
  RecordingOutbox outbox_;
  SoloEngine trained_;
};

TEST_F(PretrainedInitialWeightsTest, ARunBeginsWithTheWeightsOfACheckpointAndNothingElseOfIt) {
  TrainingOptions options = TinyOptions();
  options.seed = 7;
  const auto fresh = MakeTinyState(options, 0.5);
  const auto ours = fresh->Parameters(), theirs = trained_.state->Parameters();
  ASSERT_EQ(ours.size(), theirs.size());
  const absl::Status loaded = Load(*fresh);
  ASSERT_TRUE(loaded.ok()) << loaded;
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].name, theirs[i].name);
    EXPECT_TRUE(at::equal(ours[i].tensor, theirs[i].tensor)) << ours[i].name;
  }
  for (size_t u = 0; u < fresh->units().size(); ++u) {
    for (const at::Tensor& state : fresh->optimizer().state(static_cast<int>(u))) {
      EXPECT_EQ(state.count_nonzero().item<int64_t>(), 0);
    }
  }
  EXPECT_FALSE(fresh->applied().has_value());
  EXPECT_EQ(fresh->counts(), RunCounts{});
}

TEST_F(PretrainedInitialWeightsTest, NumbersOfDoublePrecisionGetTheSameValues) {
  TrainingOptions options = TinyOptions();
  options.types = {at::kDouble, at::kDouble};
  const auto fresh = MakeTinyState(options, 0.0);
  ASSERT_TRUE(Load(*fresh).ok());
  const auto ours = fresh->Parameters(), theirs = trained_.state->Parameters();
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_TRUE(at::equal(ours[i].tensor, theirs[i].tensor.to(at::kDouble))) << ours[i].name;
  }
}

TEST_F(PretrainedInitialWeightsTest, AnotherModelIsRefusedWithItsFields) {
  planner::ModelShape shape = TinyModel(0);
  shape.layers = 3;
  shape.vocabulary = 64;
  EXPECT_EQ(Error(shape),
            "/ck/step-000000005/config.json: it is another model: n_layer is 2 there, 3 here; "
            "vocab_size is 61 there, 64 here (model.vocabulary)");
}

// Regression: it was said to have no transformer.wte.weight. safetensors' save_model keeps the tied
// weight under the other name.
TEST_F(PretrainedInitialWeightsTest, ATiedModelMayBeSavedUnderTheHeadsName) {
  const auto entries = files_.List(kFolder);
  ASSERT_TRUE(entries.ok());
  for (const DirectoryEntry& entry : *entries) {
    const std::string path = JoinPath(kFolder, entry.name);
    if (!absl::StrContains(entry.name, "model")) continue;
    const std::string text = *ReadFile(files_, path);
    // The header keeps its length.
    ASSERT_TRUE(files_
                    .Overwrite(path, absl::StrReplaceAll(text, {{"\"transformer.wte.weight\"",
                                                                 "\"lm_head.weight\"        "}}))
                    .ok());
  }
  const auto fresh = MakeTinyState(TinyOptions(), 0.5);
  const absl::Status loaded = Load(*fresh);
  ASSERT_TRUE(loaded.ok()) << loaded;
  const auto ours = fresh->Parameters(), theirs = trained_.state->Parameters();
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_TRUE(at::equal(ours[i].tensor, theirs[i].tensor)) << ours[i].name;
  }
}

TEST_F(PretrainedInitialWeightsTest, TensorsThatAreNotThoseOfTheConfigAreRefused) {
  planner::ModelShape shape = TinyModel(0);
  shape.vocabulary = 64;
  const std::string path = JoinPath(kFolder, "config.json");
  Json config = *ParseJson(*ReadFile(files_, path));
  config["vocab_size"] = 64;
  ASSERT_TRUE(files_.Overwrite(path, DumpJson(config)).ok());
  EXPECT_THAT(Error(shape), HasSubstr("transformer.wte.weight is [61, 32] there, [64, 32] here"));
}

}  // namespace
}  // namespace muster::trainer
