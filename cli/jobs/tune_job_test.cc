#include "cli/jobs/tune_job.h"

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "cli/jobs/apply.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/training_job.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/wrap/faulty_api.h"

namespace muster::cli {
namespace {

using control::TrainingJob;
using kube::Verb;
using ::testing::HasSubstr;

class TuneJobTest : public testing::Test {
 protected:
  TuneJobTest() {
    TrainingJob job;
    job.ns = "default";
    job.name = "small";
    job.spec.mutable_workers()->set_count(1);
    auto& trainer = *job.spec.mutable_trainer();
    trainer.mutable_model()->set_preset("gpt2-nano");
    trainer.mutable_data()->set_uri("/text.txt");
    trainer.mutable_train()->set_steps(100);
    job.spec.mutable_checkpoint()->set_uri("/checkpoints");
    EXPECT_TRUE(api_.Create(kube::kTrainingJobs, control::ToJson(job)).ok());
  }
  TuneCall Call(double rate) {
    TuneCall call;
    call.job = "small";
    call.request.learning_rate = rate;
    call.request.by = "anna";
    return call;
  }
  void SetStatus(const std::function<void(v1alpha1::TrainingJobStatus&)>& set) {
    TrainingJob job = *GetJob(api_, key_);
    set(job.status);
    ASSERT_TRUE(api_.UpdateStatus(kube::kTrainingJobs, control::ToJson(job)).ok());
  }

  const kube::ObjectKey key_{"default", "small"};
  std::unique_ptr<kube::MemoryApi> memory_ = *kube::MemoryApi::Open(Clock::Real(), {});
  kube::FaultyApi api_{*memory_, {}};
};

TEST_F(TuneJobTest, AWriteThatMeetsAnotherIsRepeatedOnTheJobAsItIsThen) {
  for (int i = 0; i < 3; ++i) {
    api_.FailNext(Verb::kUpdate, absl::AbortedError("the object has been modified"));
  }
  EXPECT_EQ(*TuneJob(api_, key_, Call(1e-4).request), 0);
  EXPECT_EQ(*TuneJob(api_, key_, Call(2e-4).request), 1);
  const TrainingJob job = *GetJob(api_, key_);
  ASSERT_EQ(job.spec.trainer().tunings_size(), 2);
  EXPECT_EQ(job.spec.trainer().tunings(0).learning_rate(), 1e-4);
  EXPECT_EQ(job.spec.trainer().tunings(1).by(), "anna");
}

TEST_F(TuneJobTest, WhatIsRefusedIsNotWritten) {
  EXPECT_THAT(std::string(TuneJob(api_, key_, Call(-1).request).status().message()),
              HasSubstr("learningRate"));
  SetStatus([](auto& status) { status.set_state("Succeeded"); });
  TrainingJob job = *GetJob(api_, key_);
  auto& succeeded = *job.status.add_conditions();
  succeeded.set_type("Succeeded");
  succeeded.set_status("True");
  ASSERT_TRUE(api_.UpdateStatus(kube::kTrainingJobs, control::ToJson(job)).ok());
  EXPECT_EQ(TuneJob(api_, key_, Call(1e-4).request).status(),
            absl::FailedPreconditionError("job small has ended: Succeeded"));
  EXPECT_EQ(api_.calls(Verb::kUpdate), 0);
}

TEST_F(TuneJobTest, ItSaysWhatItWroteAndWithWaitFromWhichStepOnItHolds) {
  // The operator has seen it in force already when the command first looks.
  SetStatus([](auto& status) {
    auto& tuning = *status.add_tunings();
    tuning.set_step(7);
    tuning.set_learning_rate(1e-4);
  });
  TuneCall call = Call(1e-4);
  call.wait = true;
  testing::internal::CaptureStdout();
  EXPECT_TRUE(TuneAndSay(api_, key_, call).ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "job small: learning rate 0.0001 from the next step that all ranks can begin with it "
            "on\njob small: learning rate 0.0001 from step 7\n");
}

}  // namespace
}  // namespace muster::cli
