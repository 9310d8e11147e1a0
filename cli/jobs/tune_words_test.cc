#include "cli/jobs/tune_words.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/flags/flags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/training_job.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<TuneCall> Read(const std::vector<std::string>& words) {
  return ReadTuneCall(*Flags::Parse(words, TuneOnlyFlags()));
}

std::string WhyNot(const std::vector<std::string>& words) {
  const auto call = Read(words);
  EXPECT_TRUE(absl::IsInvalidArgument(call.status())) << call.status();
  return std::string(call.status().message());
}

TEST(TuneWordsTest, AJobAndItsChangesAreRead) {
  const auto call = Read(
      {"gpt", "learningRate=1e-4", "clipNorm=0", "globalBatch=512", "--from-step=1201", "--wait"});
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(call->job, "gpt");
  EXPECT_EQ(call->request.learning_rate, 1e-4);
  EXPECT_EQ(call->request.clip_norm, 0.0);
  EXPECT_EQ(call->request.global_batch, 512);
  EXPECT_EQ(call->request.from_step, 1201);
  EXPECT_TRUE(call->wait);
  EXPECT_FALSE(Read({"gpt", "clipNorm=1"})->wait);
}

TEST(TuneWordsTest, AWrongWordIsNamedWithWhatWouldBeRight) {
  EXPECT_THAT(WhyNot({}), HasSubstr("name one job"));
  EXPECT_THAT(WhyNot({"learningRate=1"}), HasSubstr("name one job"));
  EXPECT_THAT(WhyNot({"gpt"}), HasSubstr("say what to change"));
  EXPECT_THAT(WhyNot({"gpt", "learnRate=1"}), HasSubstr("did you mean learningRate?"));
  EXPECT_THAT(WhyNot({"gpt", "other"}), HasSubstr("can be changed are learningRate=NUMBER"));
  for (const char* value : {"", "x", "nan", "inf", "1e999", "1,5"}) {
    EXPECT_THAT(WhyNot({"gpt", absl::StrCat("learningRate=", value)}),
                HasSubstr("wants a number such as 1e-4"))
        << value;
  }
  for (const char* value : {"", "x", "0", "-8", "1.5"}) {
    EXPECT_THAT(WhyNot({"gpt", absl::StrCat("globalBatch=", value)}),
                HasSubstr("wants a whole number, from 1"))
        << value;
  }
  EXPECT_THAT(WhyNot({"gpt", "clipNorm=1", "clipNorm=2"}), HasSubstr("clipNorm: is given twice"));
  EXPECT_THAT(WhyNot({"gpt", "clipNorm=1", "--from-step=0"}), HasSubstr("--from-step=0"));
}

TEST(TuneWordsTest, ABatchHasNoStepToWaitFor) {
  EXPECT_TRUE(Read({"gpt", "globalBatch=16"}).ok());
  EXPECT_THAT(WhyNot({"gpt", "globalBatch=16", "--wait"}), HasSubstr("neither is given"));
  EXPECT_THAT(WhyNot({"gpt", "globalBatch=16", "--from-step=5"}), HasSubstr("neither is given"));
}

TEST(TuneWordsTest, TheCallerIsTheUserOfTheKubeconfigWhereThereIsOne) {
  EXPECT_EQ(CallerName("anna@example.org"), "anna@example.org");
  EXPECT_EQ(CallerName(std::string(300, 'x')).size(), 253u);
}

TEST(TuneWordsTest, AWaitEndsWithTheStepOrWithTheJob) {
  control::TrainingJob job;
  job.name = "gpt";
  job.status.set_state("Training");
  EXPECT_EQ(*InForce(job, 1), std::nullopt);
  auto& tuning = *job.status.add_tunings();
  tuning.set_step(1201);
  tuning.set_learning_rate(1e-4);
  EXPECT_EQ(*InForce(job, 0), "job gpt: learning rate 0.0001 from step 1201");
  EXPECT_EQ(*InForce(job, 1), std::nullopt);
  job.status.set_state("Suspended");
  EXPECT_EQ(InForce(job, 1).status(),
            absl::FailedPreconditionError(
                "job gpt is Suspended, and the change has not come into force"));
  EXPECT_TRUE(InForce(job, 0).ok());
}

}  // namespace
}  // namespace muster::cli
