#include "operator/api/tune_request.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using v1alpha1::TrainingJobSpec;
using v1alpha1::TrainingJobStatus;

TrainingJobSpec Spec() {
  TrainingJobSpec spec;
  spec.mutable_workers()->set_count(2);
  auto& trainer = *spec.mutable_trainer();
  trainer.mutable_model()->set_preset("gpt2-nano");
  trainer.mutable_data()->set_uri("/text.txt");
  trainer.mutable_train()->set_steps(1000);
  trainer.mutable_train()->set_global_batch(8);
  trainer.mutable_train()->set_micro_batch(2);
  trainer.mutable_train()->set_sequence(128);
  spec.mutable_checkpoint()->set_uri("/out");
  return spec;
}

TuneRequest Rate(double rate) {
  TuneRequest request;
  request.learning_rate = rate;
  return request;
}

// Returns the message of the refusal, which leaves the spec unchanged.
std::string WhyNot(const TuneRequest& request, TrainingJobSpec spec = Spec(),
                   const TrainingJobStatus& status = {}) {
  const std::string before = spec.SerializeAsString();
  const absl::Status refused = Tune(request, status, spec).status();
  EXPECT_FALSE(refused.ok());
  EXPECT_TRUE(absl::IsInvalidArgument(refused) || absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(spec.SerializeAsString(), before);
  return std::string(refused.message());
}

TEST(TuneRequestTest, AChangeIsAppendedWithWhoAskedForIt) {
  TrainingJobSpec spec = Spec();
  TuneRequest request = Rate(1e-4);
  request.clip_norm = 0;
  request.from_step = 1000;
  request.by = "anna";
  EXPECT_EQ(*Tune(request, {}, spec), 0);
  EXPECT_EQ(*Tune(request, {}, spec), 1);
  ASSERT_EQ(spec.trainer().tunings_size(), 2);
  const v1alpha1::TuningSpec& tuning = spec.trainer().tunings(1);
  EXPECT_EQ(tuning.learning_rate(), 1e-4);
  EXPECT_TRUE(tuning.has_clip_norm()) << "0 switches clipping off";
  EXPECT_EQ(tuning.from_step(), 1000);
  EXPECT_EQ(tuning.by(), "anna");
  EXPECT_EQ(spec.trainer().train().global_batch(), 8);
}

TEST(TuneRequestTest, AnotherBatchIsTheSpecsOwnField) {
  TrainingJobSpec spec = Spec();
  TuneRequest request;
  request.global_batch = 16;
  EXPECT_EQ(*Tune(request, {}, spec), std::nullopt);
  EXPECT_EQ(spec.trainer().train().global_batch(), 16);
  EXPECT_EQ(spec.trainer().tunings_size(), 0);
}

TEST(TuneRequestTest, WhatAManifestCouldNotHaveIsRefusedWithItsField) {
  EXPECT_THAT(WhyNot(Rate(0)), HasSubstr("spec.trainer.tunings[0].learningRate"));
  EXPECT_THAT(WhyNot(Rate(-1e-4)), HasSubstr("spec.trainer.tunings[0].learningRate"));
  EXPECT_THAT(WhyNot(Rate(1e6)), HasSubstr("spec.trainer.tunings[0].learningRate"));
  EXPECT_THAT(WhyNot(Rate(std::nan(""))), HasSubstr("finite"));
  EXPECT_THAT(WhyNot(Rate(std::numeric_limits<double>::infinity())), HasSubstr("finite"));
  TuneRequest clip;
  clip.clip_norm = -1;
  EXPECT_THAT(WhyNot(clip), HasSubstr("spec.trainer.tunings[0].clipNorm"));
  TuneRequest batch;
  batch.global_batch = 9;
  EXPECT_THAT(WhyNot(batch), HasSubstr("must be a multiple of microBatch"));
  batch.global_batch = int64_t{1} << 40;
  EXPECT_THAT(WhyNot(batch), HasSubstr("spec.trainer.train.globalBatch"));
  TuneRequest by = Rate(1e-4);
  by.by = std::string(300, 'x');
  EXPECT_THAT(WhyNot(by), HasSubstr("spec.trainer.tunings[0].by"));
}

TEST(TuneRequestTest, AnErrorThatTheSpecHadBeforeIsNotTheCallersConcern) {
  TrainingJobSpec spec = Spec();
  spec.mutable_trainer()->mutable_optimizer()->set_warmup_steps(5000);
  TrainingJobSpec other = spec;
  EXPECT_TRUE(Tune(Rate(1e-4), {}, spec).ok());
  EXPECT_THAT(WhyNot(Rate(-1), other), HasSubstr("spec.trainer.tunings[0].learningRate"));
}

TEST(TuneRequestTest, WhatChangesNothingOrCannotComeIsRefused) {
  EXPECT_EQ(WhyNot({}), "changes nothing: give learningRate, clipNorm or globalBatch");
  TuneRequest late = Rate(1e-4);
  late.from_step = 1001;
  EXPECT_EQ(WhyNot(late), "fromStep: the run has 1000 steps, and step 1001 is not one of them");
  TuneRequest batch;
  batch.global_batch = 16;
  batch.from_step = 5;
  EXPECT_THAT(WhyNot(batch), HasSubstr("neither is given"));
  TrainingJobSpec command = Spec();
  command.clear_trainer();
  EXPECT_THAT(WhyNot(Rate(1e-4), command), HasSubstr("a command of its own"));
}

TEST(TuneRequestTest, AChangeThatWouldWaitForALaterOneIsRefused) {
  TrainingJobSpec spec = Spec();
  TuneRequest later = Rate(1e-4);
  later.from_step = 500;
  ASSERT_TRUE(Tune(later, {}, spec).ok());
  EXPECT_THAT(WhyNot(Rate(2e-4), spec), HasSubstr("an earlier change waits for step 500"));
  TuneRequest earlier = Rate(2e-4);
  earlier.from_step = 499;
  EXPECT_THAT(WhyNot(earlier, spec), HasSubstr("an earlier change waits for step 500"));
  TrainingJobStatus status;
  status.mutable_progress()->set_step(499);
  TrainingJobSpec now = spec;
  EXPECT_TRUE(Tune(Rate(2e-4), status, now).ok()) << "the next step is that one";
  status.clear_progress();
  status.add_tunings()->set_step(500);
  now = spec;
  EXPECT_TRUE(Tune(Rate(2e-4), status, now).ok()) << "it is in force";
  earlier.from_step = 500;
  EXPECT_TRUE(Tune(earlier, {}, spec).ok());
}

TEST(TuneRequestTest, AFullListIsRefused) {
  TrainingJobSpec spec = Spec();
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(Tune(Rate(1e-4), {}, spec).ok()) << i;
  EXPECT_THAT(WhyNot(Rate(1e-4), spec), HasSubstr("the job has had 64 changes"));
}

TEST(TuneRequestTest, JsonIsReadBackAndWhatItCannotBeIsNamed) {
  TuneRequest request = Rate(1e-4);
  request.clip_norm = 0.5;
  request.from_step = 12;
  request.global_batch = 16;
  request.by = "anna";
  const auto read = ParseTuneRequest(ToJson(request));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->learning_rate, 1e-4);
  EXPECT_EQ(read->clip_norm, 0.5);
  EXPECT_EQ(read->from_step, 12);
  EXPECT_EQ(read->global_batch, 16);
  EXPECT_EQ(read->by, "anna");
  for (const char* bad : {"[]", "1", R"({"lr": 1})", R"({"learningRate": "1"})",
                          R"({"fromStep": 1.5})", R"({"by": 3})", R"({"globalBatch": null})"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseTuneRequest(*ParseJson(bad)).status())) << bad;
  }
}

TEST(TuneRequestTest, TheSentenceSaysWhatChangesAndWhen) {
  TuneRequest request = Rate(1e-4);
  EXPECT_EQ(DescribeRequest(request),
            "learning rate 0.0001 from the next step that all ranks can begin with it on");
  request.clip_norm = 0.5;
  request.from_step = 12;
  EXPECT_EQ(DescribeRequest(request), "learning rate 0.0001, clip norm 0.5 from step 12 on");
  request.global_batch = 16;
  EXPECT_EQ(DescribeRequest(request),
            "learning rate 0.0001, clip norm 0.5 from step 12 on; global batch 16 from the next "
            "round on, which opens now");
}

}  // namespace
}  // namespace muster::control
