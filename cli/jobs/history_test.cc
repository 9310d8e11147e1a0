#include "cli/jobs/history.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

v1alpha1::StepReport Step(int64_t number, double loss, int64_t attempt = 1) {
  v1alpha1::StepReport step;
  step.mutable_version()->set_step(number);
  step.mutable_version()->set_attempt(attempt);
  step.set_loss(loss);
  step.set_tokens(100);
  step.mutable_times()->set_compute(0.5);
  return step;
}

TEST(History, SurvivesBeingReopened) {
  MemoryFiles files;
  ASSERT_TRUE(files.MakeDirectories("/job").ok());
  {
    auto history = History::Open(files, "/job/steps.jsonl");
    ASSERT_TRUE(history.ok()) << history.status();
    auto validated = Step(2, 3.0);
    validated.set_validation_loss(3.5);
    validated.set_unigram_entropy(5.0);
    validated.set_loss_scale(1024);
    validated.set_spikes_total(3);
    validated.set_spike("loss 9.1, median 3.2");
    validated.set_tunings(2);
    validated.mutable_tuning()->set_step(2);
    validated.mutable_tuning()->set_learning_rate(1e-4);
    ASSERT_TRUE((*history)->Add(Step(1, 4.0)).ok());
    ASSERT_TRUE((*history)->Add(validated).ok());
  }
  auto history = History::Open(files, "/job/steps.jsonl");
  ASSERT_TRUE(history.ok());
  EXPECT_EQ((*history)->last_step(), 2);
  EXPECT_EQ((*history)->Curve()[1].validation_loss, 3.5);
  EXPECT_EQ((*history)->unigram_entropy(), 5.0);
  EXPECT_EQ((*history)->steps().at(2).loss_scale(), 1024);
  EXPECT_FALSE((*history)->steps().at(1).has_loss_scale());
  EXPECT_EQ((*history)->steps().at(2).spikes_total(), 3);
  EXPECT_EQ((*history)->steps().at(2).spike(), "loss 9.1, median 3.2");
  EXPECT_EQ((*history)->steps().at(2).tunings(), 2);
  EXPECT_EQ((*history)->steps().at(2).tuning().step(), 2);
  EXPECT_EQ((*history)->steps().at(2).tuning().learning_rate(), 1e-4);
  EXPECT_FALSE((*history)->steps().at(2).tuning().has_clip_norm());
  EXPECT_EQ((*history)->steps().at(1).tunings(), 0);
  EXPECT_FALSE((*history)->steps().at(1).has_tuning());
  EXPECT_EQ((*history)->best_validation_loss(), 3.5);
  EXPECT_DOUBLE_EQ((*history)->tokens_per_second(), 200);
}

// Regression: a validation loss that was no number was read back as 0, the best of all.
TEST(History, AValidationLossThatIsNoNumberIsNotTheBest) {
  MemoryFiles files;
  {
    auto history = History::Open(files, "steps.jsonl");
    auto diverged = Step(1, std::nan(""));
    diverged.set_validation_loss(std::nan(""));
    diverged.set_gradient_norm(std::nan(""));
    auto validated = Step(2, 3.0);
    validated.set_validation_loss(3.5);
    ASSERT_TRUE((*history)->Add(diverged).ok());
    ASSERT_TRUE((*history)->Add(validated).ok());
  }
  auto history = *History::Open(files, "steps.jsonl");
  EXPECT_EQ(history->best_validation_loss(), 3.5);
  EXPECT_TRUE(std::isnan(history->steps().at(1).validation_loss()));
  EXPECT_TRUE(std::isnan(history->steps().at(1).gradient_norm()));
}

TEST(History, ARedoneStepVoidsWhatFollowed) {
  MemoryFiles files;
  auto history = History::Open(files, "steps.jsonl");
  ASSERT_TRUE(history.ok()) << history.status();
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE((*history)->Add(Step(i, 5.0 - i)).ok());
  ASSERT_TRUE((*history)->Add(Step(3, 9.0, 2)).ok());
  EXPECT_EQ((*history)->last_step(), 3);
  EXPECT_EQ((*history)->steps().at(3).loss(), 9.0);
}

TEST(History, ATornLastLineIsDroppedAndTheNextOneIsWhole) {
  MemoryFiles files;
  {
    auto history = History::Open(files, "steps.jsonl");
    ASSERT_TRUE((*history)->Add(Step(1, 4.0)).ok());
    auto file = files.Create("steps.jsonl", CreateMode::kAppend);
    ASSERT_TRUE((*file)->Append("{\"step\": 2, \"lo").ok());
  }
  {
    auto history = History::Open(files, "steps.jsonl");
    EXPECT_EQ((*history)->last_step(), 1);
    ASSERT_TRUE((*history)->Add(Step(2, 3.0)).ok());
  }
  EXPECT_EQ((*History::Load(files, "steps.jsonl"))->last_step(), 2);
}

TEST(History, ALossThatIsNotANumberStaysOne) {
  MemoryFiles files;
  {
    auto history = History::Open(files, "steps.jsonl");
    ASSERT_TRUE((*history)->Add(Step(1, NAN)).ok());
  }
  EXPECT_TRUE(std::isnan((*History::Load(files, "steps.jsonl"))->steps().at(1).loss()));
}

TEST(History, AMissingFileIsAnEmptyHistory) {
  MemoryFiles files;
  EXPECT_TRUE((*History::Load(files, "none"))->steps().empty());
}

}  // namespace
}  // namespace muster::cli
