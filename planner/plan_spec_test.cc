#include "planner/plan_spec.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace muster::planner {
namespace {

TEST(PlanSpec, ALayoutIsReadAsItWasWritten) {
  const Layout layouts[] = {
      {.data = 8},
      {.data = 2, .shard = 4, .micro_batch = 2, .zero = 3},
      {.shard = 2, .tensor = 2, .pipeline = 2, .zero = 1, .recompute = Recompute::kFull},
      {.data = 1,
       .pipeline = 4,
       .context = 2,
       .ring = true,
       .schedule = PipelineSchedule::kInterleaved,
       .chunks = 4,
       .recompute = Recompute::kFull,
       .recompute_every = 2},
      {.data = 2, .pipeline = 4, .schedule = PipelineSchedule::kZeroBubbleV, .chunks = 2},
      {.shard = 8, .zero = 2, .offload = true},
  };
  for (const Layout& layout : layouts) {
    v1alpha1::TrainerSpec trainer;
    ApplyLayout(layout, trainer);
    EXPECT_TRUE(LayoutOf(trainer, 8) == layout) << LayoutText(layout);
  }
}

TEST(PlanSpec, YamlLeavesDefaultsOut) {
  EXPECT_EQ(LayoutYaml({.data = 8, .micro_batch = 4}, 2),
            "  train: {microBatch: 4}\n"
            "  parallelism: {}\n");
  EXPECT_EQ(LayoutYaml({.shard = 2,
                        .tensor = 8,
                        .pipeline = 4,
                        .schedule = PipelineSchedule::kInterleaved,
                        .chunks = 2,
                        .zero = 1,
                        .recompute = Recompute::kFull,
                        .recompute_every = 2},
                       0),
            "train: {microBatch: 1}\n"
            "parallelism: {tensor: 8, pipeline: 4, schedule: Interleaved, chunks: 2, zero: 1, "
            "shard: 2}\n"
            "activations: {recompute: Full, recomputeEvery: 2}\n");
  EXPECT_EQ(LayoutText({.data = 2, .tensor = 8}), "data 2, tensor 8, micro-batch 1");
}

v1alpha1::TrainingJobSpec Spec() {
  v1alpha1::TrainingJobSpec spec;
  v1alpha1::TrainerSpec& trainer = *spec.mutable_trainer();
  trainer.mutable_model()->set_preset("gpt2-124m");
  trainer.mutable_model()->set_vocabulary(50304);
  trainer.mutable_data()->set_format("Tokens");
  trainer.mutable_train()->set_precision("bf16");
  trainer.mutable_train()->set_sequence(1024);
  trainer.mutable_train()->set_global_batch(64);
  trainer.mutable_optimizer()->set_name("adamw");
  return spec;
}

absl::StatusOr<PlanRequest> Read(const v1alpha1::TrainingJobSpec& spec) {
  const Device& device = *FindDevice("H100");
  return RequestOf(spec, device, WiringOf(device), 16, 8);
}

TEST(PlanSpec, AJobIsARequest) {
  const auto request = Read(Spec());
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->work.shape.layers, 12);
  EXPECT_EQ(request->work.shape.vocabulary, 50304);
  EXPECT_EQ(request->work.sequence, 1024);
  EXPECT_EQ(request->work.global_batch, 64);
  EXPECT_EQ(request->ranks, 16);
  EXPECT_EQ(request->ranks_of_worker, 8);
  EXPECT_EQ(request->device.name, "H100");
}

TEST(PlanSpec, FewerBytesOnTheWayMakeTheExchangeShorter) {
  v1alpha1::TrainingJobSpec spec = Spec();
  const auto exchange = [&] {
    const auto request = Read(spec);
    EXPECT_TRUE(request.ok()) << request.status();
    const Layout layout = {.shard = 16, .zero = 3};
    Plan plan;
    CheckLayout(*request, layout, plan);
    return plan.time.data;
  };
  const double whole = exchange();
  v1alpha1::CommunicationSpec& sent = *spec.mutable_trainer()->mutable_communication();
  sent.set_weights("BF16");
  const double weights = exchange();
  sent.set_gradients("INT8");
  EXPECT_LT(weights, whole);
  EXPECT_LT(exchange(), weights);
}

TEST(PlanSpec, RefusesWhatCannotBePlanned) {
  v1alpha1::TrainingJobSpec spec = Spec();
  spec.clear_trainer();
  EXPECT_TRUE(absl::IsInvalidArgument(Read(spec).status()));
  spec = Spec();
  spec.mutable_trainer()->mutable_model()->mutable_torch_script();
  EXPECT_TRUE(absl::IsInvalidArgument(Read(spec).status()));
  spec = Spec();
  spec.mutable_trainer()->mutable_model()->set_preset("gpt-9");
  EXPECT_TRUE(absl::IsInvalidArgument(Read(spec).status()));
  spec = Spec();
  spec.mutable_trainer()->mutable_model()->clear_vocabulary();
  EXPECT_EQ(Read(spec).status().message(),
            "trainer.model: the model's vocabulary is unknown: set model.vocabulary");
  spec.mutable_trainer()->mutable_data()->set_format("Text");
  spec.mutable_trainer()->mutable_data()->mutable_tokenizer()->set_kind("Byte");
  EXPECT_TRUE(Read(spec).ok());
}

}  // namespace
}  // namespace muster::planner
