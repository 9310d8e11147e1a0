#include "operator/core/state/tuned_steps.h"

#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {
namespace {

// Three changes, and the steps of the first two.
v1alpha1::TrainingJobSpec Spec() {
  v1alpha1::TrainingJobSpec spec;
  auto& tunings = *spec.mutable_trainer()->mutable_tunings();
  tunings.Add()->set_learning_rate(1e-4);
  tunings.Add()->set_clip_norm(0);
  tunings.Add()->set_learning_rate(2e-4);
  tunings[1].set_from_step(50);
  tunings[2].set_from_step(900);
  return spec;
}

v1alpha1::TrainingJobStatus Status() {
  v1alpha1::TrainingJobStatus status;
  status.add_tunings()->set_step(41);
  status.add_tunings()->set_step(57);
  return status;
}

TEST(TunedStepsTest, RanksGetTheKnownStepsAndOtherwiseThoseThatWereAskedFor) {
  const auto tunings = TuningsOf(Spec(), Status());
  ASSERT_EQ(tunings.size(), 3u);
  EXPECT_EQ(tunings[0].step(), 41);
  EXPECT_EQ(tunings[0].learning_rate(), 1e-4);
  EXPECT_FALSE(tunings[0].has_clip_norm());
  EXPECT_EQ(tunings[1].step(), 57) << "it came later than it was asked for";
  EXPECT_TRUE(tunings[1].has_clip_norm()) << "0 is a change: no gradient is clipped any more";
  EXPECT_FALSE(tunings[1].has_learning_rate());
  EXPECT_EQ(tunings[2].step(), 900);
  EXPECT_EQ(TuningsOf(Spec(), {})[0].step(), 0) << "as soon as all ranks know of it";
}

TEST(TunedStepsTest, ARoundsSpecSaysTheSame) {
  v1alpha1::TrainingJobSpec spec = Spec();
  NoteTunedSteps(Status(), spec);
  EXPECT_EQ(spec.trainer().tunings(0).from_step(), 41);
  EXPECT_EQ(spec.trainer().tunings(1).from_step(), 57);
  EXPECT_EQ(spec.trainer().tunings(2).from_step(), 900);
}

TEST(TunedStepsTest, AListThatBecameShorterKeepsItsOwnSteps) {
  v1alpha1::TrainingJobSpec spec = Spec();
  spec.mutable_trainer()->mutable_tunings()->DeleteSubrange(1, 2);
  NoteTunedSteps(Status(), spec);
  EXPECT_EQ(spec.trainer().tunings_size(), 1);
  EXPECT_EQ(spec.trainer().tunings(0).from_step(), 41);
  EXPECT_EQ(TuningsOf(spec, Status()).size(), 1u);
}

TEST(TunedStepsTest, AJobWithACommandOfItsOwnStaysWithoutATrainer) {
  v1alpha1::TrainingJobSpec spec;
  NoteTunedSteps(Status(), spec);
  EXPECT_FALSE(spec.has_trainer());
  EXPECT_TRUE(TuningsOf(spec, Status()).empty());
}

TEST(TunedStepsTest, TheSentenceHasTheChangeItsStepAndWhoAsked) {
  v1alpha1::TuningStatus tuning;
  tuning.set_step(1201);
  tuning.set_learning_rate(1e-4);
  tuning.set_by("anna");
  EXPECT_EQ(DescribeTuning(tuning), "learning rate 0.0001 from step 1201 (asked by anna)");
  tuning.set_clip_norm(0.5);
  tuning.clear_by();
  EXPECT_EQ(DescribeTuning(tuning), "learning rate 0.0001, clip norm 0.5 from step 1201");
  tuning.set_step(0);
  EXPECT_EQ(DescribeTuning(tuning),
            "learning rate 0.0001, clip norm 0.5 from the next step of all ranks");
}

}  // namespace
}  // namespace muster::control
