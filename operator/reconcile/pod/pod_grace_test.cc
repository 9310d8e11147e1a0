#include "operator/reconcile/pod/pod_grace.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

v1alpha1::TrainingJobSpec Trainer(const std::string& preset) {
  v1alpha1::TrainingJobSpec spec;
  spec.mutable_checkpoint()->set_uri("/checkpoints");
  spec.mutable_trainer()->mutable_model()->set_preset(preset);
  spec.mutable_trainer()->mutable_train()->set_precision("fp32");
  spec.mutable_trainer()->mutable_optimizer()->set_name("adamw");
  return spec;
}

TEST(TerminationGraceTest, GrowsWithTheCheckpoint) {
  EXPECT_EQ(TerminationGrace(Trainer("gpt2-nano")), absl::Seconds(30));
  // 124 million parameters of 4 bytes, and two moments: 1.5 GB at 100 MB/s.
  EXPECT_EQ(TerminationGrace(Trainer("gpt2-124m")), absl::Seconds(44));
  EXPECT_EQ(TerminationGrace(Trainer("gpt2-1558m")), absl::Seconds(216));
  v1alpha1::TrainingJobSpec huge = Trainer("gpt2-1558m");
  huge.mutable_trainer()->mutable_model()->set_layers(1000);
  EXPECT_EQ(TerminationGrace(huge), absl::Minutes(30));
}

TEST(TerminationGraceTest, WhoSavesNothingHasTheUsualTime) {
  v1alpha1::TrainingJobSpec spec = Trainer("gpt2-1558m");
  spec.clear_checkpoint();
  EXPECT_EQ(TerminationGrace(spec), absl::Seconds(30));
  EXPECT_EQ(TerminationGrace({}), absl::Seconds(30)) << "a command's template says more";
}

TEST(SetTerminationGraceTest, TheTemplatesOwnCounts) {
  Json spec = Json::object();
  EXPECT_EQ(SetTerminationGrace(Trainer("gpt2-124m"), spec), absl::Seconds(44));
  EXPECT_EQ(spec["terminationGracePeriodSeconds"], 44);
  spec["terminationGracePeriodSeconds"] = 600;
  EXPECT_EQ(SetTerminationGrace(Trainer("gpt2-124m"), spec), absl::Minutes(10));
  EXPECT_EQ(spec["terminationGracePeriodSeconds"], 600);
}

}  // namespace
}  // namespace muster::control
