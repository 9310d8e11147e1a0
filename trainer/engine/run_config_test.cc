#include "trainer/engine/run_config.h"

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

v1alpha1::TrainingJobSpec Spec() {
  v1alpha1::TrainingJobSpec spec;
  v1alpha1::TrainSpec& train = *spec.mutable_trainer()->mutable_train();
  train.set_steps(50);
  train.set_global_batch(12);
  train.set_micro_batch(3);
  train.set_sequence(128);
  return spec;
}

TEST(RunConfigTest, ReadsTheSpecAndFillsInTheApisDefaults) {
  v1alpha1::TrainingJobSpec spec = Spec();
  spec.mutable_checkpoint()->mutable_interval()->set_steps(25);
  spec.mutable_elastic()->set_step_deadline("90s");
  const auto config = ReadRunConfig(spec, 3);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->training.micro_batches, 4);
  EXPECT_EQ(config->training.nominal_tokens(), 12 * 128);
  EXPECT_EQ(config->training.schedule.steps, 50);
  EXPECT_EQ(config->training.schedule.peak, 3e-4);
  EXPECT_EQ(config->training.clip_norm, 1.0);
  EXPECT_EQ(config->training.types.compute, c10::ScalarType::Float);
  EXPECT_EQ(config->settings.local_rank, 3);
  EXPECT_EQ(config->settings.save_every_steps, 25);
  EXPECT_EQ(config->settings.save_every, absl::ZeroDuration());
  EXPECT_EQ(config->step_deadline, absl::Seconds(90));
}

TEST(RunConfigTest, RefusesWhatCannotBe) {
  v1alpha1::TrainingJobSpec spec = Spec();
  spec.mutable_trainer()->mutable_train()->set_micro_batch(5);
  EXPECT_EQ(ReadRunConfig(spec, 0).status().message(),
            "train.globalBatch: 12 must be a multiple of microBatch 5");
  spec = Spec();
  spec.mutable_elastic()->set_step_deadline("soon");
  EXPECT_EQ(ReadRunConfig(spec, 0).status().message(),
            "elastic.stepDeadline: \"soon\" is no positive duration such as 60s");
}

}  // namespace
}  // namespace muster::trainer
