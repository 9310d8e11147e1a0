#include "trainer/process/spec_reader.h"

#include <utility>

#include "gtest/gtest.h"
#include "planner/activations.h"
#include "trainer/commit/spike_watch.h"
#include "trainer/commit/tunings.h"
#include "trainer/engine/link/sent_numbers.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/lamb.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/muon.h"
#include "trainer/optim/registry.h"
#include "trainer/optim/sgd.h"

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

TEST(SpecReaderTest, ReadsTheSpecAndFillsInTheApisDefaults) {
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
  EXPECT_EQ(config->settings.mark_seen_within, absl::Seconds(45)) << "the others wait meanwhile";
}

TEST(SpecReaderTest, TheStageOfZeroSaysWhatIsDivided) {
  const auto divided = [](int zero) {
    v1alpha1::TrainingJobSpec spec = Spec();
    if (zero >= 0) spec.mutable_trainer()->mutable_parallelism()->set_zero(zero);
    return ReadRunConfig(spec, 0)->training.divided;
  };
  EXPECT_EQ(divided(-1), Division());
  EXPECT_EQ(divided(1), Division());
  EXPECT_EQ(divided(2), (Division{.gradients = true}));
  EXPECT_EQ(divided(3), (Division{.values = true, .gradients = true}));
}

TEST(SpecReaderTest, TensorAndPipelineSayIntoHowManyPartsAndStagesTheModelIsDivided) {
  v1alpha1::TrainingJobSpec spec = Spec();
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.parts, 1);
  spec.mutable_trainer()->mutable_parallelism()->set_tensor(2);
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.parts, 2);
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.stages, 1);
  spec.mutable_trainer()->mutable_parallelism()->set_pipeline(4);
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.stages, 4);
}

TEST(SpecReaderTest, ContextExchangeSaysHowAttentionCrossesRanks) {
  v1alpha1::TrainingJobSpec spec = Spec();
  v1alpha1::ParallelismSpec& parallelism = *spec.mutable_trainer()->mutable_parallelism();
  parallelism.set_context(2);
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.context_exchange, ContextExchange::kHeads);
  parallelism.set_context_exchange("Ring");
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.context_exchange, ContextExchange::kRing);
}

TEST(SpecReaderTest, ScheduleSaysInWhichOrderAStageRunsItsPasses) {
  v1alpha1::TrainingJobSpec spec = Spec();
  v1alpha1::ParallelismSpec& parallelism = *spec.mutable_trainer()->mutable_parallelism();
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.pipeline_schedule,
            PipelineSchedule::kOneForwardOneBackward);
  parallelism.set_schedule("ZeroBubble");
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.pipeline_schedule, PipelineSchedule::kZeroBubble);
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.chunks, 1);
  parallelism.set_schedule("Interleaved");
  parallelism.set_chunks(3);
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.pipeline_schedule, PipelineSchedule::kInterleaved);
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.chunks, 3);
  parallelism.clear_chunks();
  parallelism.set_schedule("ZeroBubbleV");
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.pipeline_schedule, PipelineSchedule::kZeroBubbleV);
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.chunks, 2);
}

TEST(SpecReaderTest, ActivationsSayWhatBlocksKeep) {
  v1alpha1::TrainingJobSpec spec = Spec();
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.activations, planner::ActivationOptions());
  v1alpha1::ActivationsSpec& activations = *spec.mutable_trainer()->mutable_activations();
  activations.set_recompute("Full");
  activations.set_recompute_every(2);
  activations.set_compress("INT8");
  EXPECT_EQ(
      ReadRunConfig(spec, 0)->training.activations,
      (planner::ActivationOptions{.recompute_every = 2, .format = planner::SavedFormat::kInt8}));
}

TEST(SpecReaderTest, AWatchIsOffUnlessTheSpecHasOne) {
  v1alpha1::TrainingJobSpec spec = Spec();
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.watch.response, SpikeResponse::kOff);
  v1alpha1::WatchSpec& watch = *spec.mutable_trainer()->mutable_watch();
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.watch.response, SpikeResponse::kSkip);
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.watch.deviations, 10.0);
  watch.set_on_spike("LowerRate");
  watch.set_deviations(6.0);
  watch.set_rate_factor(0.1);
  watch.set_max_in_row(7);
  EXPECT_EQ(ReadRunConfig(spec, 0)->settings.compare_every, 0);
  watch.set_compare_every(50);
  EXPECT_EQ(ReadRunConfig(spec, 0)->settings.compare_every, 50);
  const WatchRules rules = ReadRunConfig(spec, 0)->training.watch;
  EXPECT_EQ(rules.response, SpikeResponse::kLowerRate);
  EXPECT_EQ(rules.deviations, 6.0);
  EXPECT_EQ(rules.rate_factor, 0.1);
  EXPECT_EQ(rules.max_in_row, 7);
  watch.set_on_spike("Stop");
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.watch.response, SpikeResponse::kStop);
  watch.set_on_spike("Report");
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.watch.response, SpikeResponse::kReport);
  watch.set_on_spike("Halt");
  EXPECT_EQ(ReadRunConfig(spec, 0).status().message(),
            "trainer.watch.onSpike: \"Halt\" must be Skip, LowerRate, Stop or Report");
}

TEST(SpecReaderTest, GroupsKeepTheirOrderAndWhatTheyLeaveOut) {
  v1alpha1::TrainingJobSpec spec = Spec();
  v1alpha1::ParameterGroup& first = *spec.mutable_trainer()->mutable_optimizer()->add_groups();
  first.set_match("bias$");
  first.set_rate_factor(0.0);
  v1alpha1::ParameterGroup& second = *spec.mutable_trainer()->mutable_optimizer()->add_groups();
  second.set_match("wte");
  second.set_weight_decay(0.0);
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.optimizer.groups,
            (std::vector<ParameterGroup>{{.match = "bias$", .rate_factor = 0.0},
                                         {.match = "wte", .weight_decay = 0.0}}));
}

TEST(SpecReaderTest, RanksSendWhatTheSpecSays) {
  v1alpha1::TrainingJobSpec spec = Spec();
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.communication, CommunicationOptions());
  v1alpha1::CommunicationSpec& communication = *spec.mutable_trainer()->mutable_communication();
  communication.set_gradients("FP32");
  communication.set_weights("BF16");
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.communication,
            (CommunicationOptions{.weights = SentNumbers::kBf16}));
  communication.set_gradients("INT8");
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.communication.gradients, SentNumbers::kInt8);
  communication.set_gradients("BF16");
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.communication.gradients, SentNumbers::kBf16);
}

TEST(SpecReaderTest, TuningsKeepTheirOrderAndWhatTheyLeaveOut) {
  v1alpha1::TrainingJobSpec spec = Spec();
  v1alpha1::TuningSpec& first = *spec.mutable_trainer()->add_tunings();
  first.set_from_step(7);
  first.set_learning_rate(1e-4);
  spec.mutable_trainer()->add_tunings()->set_clip_norm(0.0);
  EXPECT_EQ(ReadRunConfig(spec, 0)->settings.tunings,
            (std::vector<Tuning>{{.step = 7, .learning_rate = 1e-4}, {.clip_norm = 0.0}}));
}

TEST(SpecReaderTest, OffloadSaysWhatRestsInFilesAndWhere) {
  v1alpha1::TrainingJobSpec spec = Spec();
  v1alpha1::ParallelismSpec& parallelism = *spec.mutable_trainer()->mutable_parallelism();
  v1alpha1::OffloadSpec& offload = *parallelism.mutable_offload();
  offload.set_optimizer("Memory");
  offload.set_directory("/scratch");
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.offload, OffloadOptions()) << "nothing is there";
  offload.set_optimizer("Disk");
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.offload,
            (OffloadOptions{.optimizer = true, .directory = "/scratch"}));
  offload.set_weights("Disk");
  EXPECT_EQ(ReadRunConfig(spec, 0).status().message(),
            "trainer.parallelism.offload.weights: Disk needs zero: 3, so that each rank keeps "
            "weights while it uses them only");
  parallelism.set_zero(3);
  EXPECT_EQ(ReadRunConfig(spec, 0)->training.offload,
            (OffloadOptions{.optimizer = true, .weights = true, .directory = "/scratch"}));
  offload.clear_directory();
  EXPECT_EQ(ReadRunConfig(spec, 0).status().message(),
            "trainer.parallelism.offload.directory: what is kept on disk needs a directory");
}

TEST(SpecReaderTest, TheMemoryForCopiesIsSharedByTheRanksOfAWorker) {
  const auto room = [](const char* size) {
    v1alpha1::TrainingJobSpec spec = Spec();
    spec.mutable_checkpoint()->mutable_memory()->set_every_steps(1);
    spec.mutable_checkpoint()->mutable_memory()->set_size(size);
    const auto config = ReadRunConfig(spec, 0);
    return config.ok() ? config->settings.copies_room : -1;
  };
  EXPECT_EQ(room("4096"), 4096);
  EXPECT_EQ(room("3k"), 3000);
  EXPECT_EQ(room("3Ki"), 3072);
  EXPECT_EQ(room("5T"), 5'000'000'000'000);
  EXPECT_EQ(room("99999999Ti"), -1) << "more than a machine counts";
  EXPECT_EQ(room("much"), -1);
  EXPECT_FALSE(ReadRunConfig(Spec(), 0)->settings.copies);
}

TEST(SpecReaderTest, CopiesWithoutAnIntervalAreMadeAsTheRanksChoose) {
  v1alpha1::TrainingJobSpec spec = Spec();
  spec.mutable_checkpoint()->mutable_memory()->set_size("4096");
  const auto config = ReadRunConfig(spec, 0);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->settings.copies);
  EXPECT_EQ(config->settings.copy_every_steps, 0);
}

TEST(SpecReaderTest, HalfOfTheMemoryForCopiesIsForReplicas) {
  v1alpha1::TrainingJobSpec spec = Spec();
  spec.mutable_checkpoint()->mutable_memory()->set_every_steps(1);
  spec.mutable_checkpoint()->mutable_memory()->set_size("4096");
  spec.mutable_checkpoint()->mutable_memory()->set_replicas(1);
  const auto config = ReadRunConfig(spec, 0);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->settings.copies_room, 2048);
  EXPECT_TRUE(config->settings.keeps_replicas);
}

v1alpha1::TrainingJobSpec SpecWithoutDefaults() {
  v1alpha1::TrainingJobSpec spec = Spec();
  v1alpha1::TrainSpec& train = *spec.mutable_trainer()->mutable_train();
  train.set_precision("bf16");
  train.set_seed(7);
  train.set_deterministic(true);
  train.set_validate_every(11);
  train.set_validate_batches(13);
  v1alpha1::OptimizerSpec& optimizer = *spec.mutable_trainer()->mutable_optimizer();
  optimizer.set_name("adamw");
  optimizer.set_learning_rate(0.5);
  optimizer.set_schedule("linear");
  optimizer.set_warmup_steps(3);
  optimizer.set_final_fraction(0.25);
  optimizer.set_beta1(0.5);
  optimizer.set_beta2(0.75);
  optimizer.set_epsilon(1e-3);
  optimizer.set_weight_decay(0.375);
  optimizer.set_clip_norm(2.5);
  spec.mutable_checkpoint()->mutable_interval()->set_mode("Time");
  spec.mutable_checkpoint()->mutable_interval()->set_time("7m");
  spec.mutable_checkpoint()->set_keep(5);
  spec.mutable_workers()->set_ranks(4);
  spec.mutable_checkpoint()->mutable_memory()->set_every_steps(6);
  spec.mutable_checkpoint()->mutable_memory()->set_size("2Gi");
  spec.mutable_elastic()->set_step_deadline("33s");
  spec.mutable_trainer()->mutable_logs()->set_tensor_board("/logs");
  return spec;
}

TEST(SpecReaderTest, Fp8IsBf16ButForLinearLayers) {
  v1alpha1::TrainingJobSpec spec = Spec();
  spec.mutable_trainer()->mutable_train()->set_precision("bf16");
  const auto bf16 = ReadRunConfig(spec, 0);
  spec.mutable_trainer()->mutable_train()->set_precision("fp8");
  const auto fp8 = ReadRunConfig(spec, 0);
  ASSERT_TRUE(bf16.ok() && fp8.ok()) << fp8.status();
  EXPECT_FALSE(bf16->training.types.fp8);
  EXPECT_TRUE(fp8->training.types.fp8);
  EXPECT_EQ(fp8->training.types.parameters, bf16->training.types.parameters);
  EXPECT_EQ(fp8->training.types.compute, bf16->training.types.compute);
}

TEST(SpecReaderTest, Fp16IsBf16WithOtherProductsAndALossScale) {
  v1alpha1::TrainingJobSpec spec = Spec();
  spec.mutable_trainer()->mutable_train()->set_precision("bf16");
  const auto bf16 = ReadRunConfig(spec, 0);
  spec.mutable_trainer()->mutable_train()->set_precision("fp16");
  const auto fp16 = ReadRunConfig(spec, 0);
  ASSERT_TRUE(bf16.ok() && fp16.ok()) << fp16.status();
  EXPECT_EQ(fp16->training.types.parameters, bf16->training.types.parameters);
  EXPECT_EQ(fp16->training.types.compute, c10::ScalarType::Half);
  EXPECT_FALSE(fp16->training.types.fp8);
  EXPECT_TRUE(fp16->training.types.scales_loss());
  EXPECT_FALSE(bf16->training.types.scales_loss());
}

// Every value differs from the one that an empty spec gives.
TEST(SpecReaderTest, EveryFieldOfTheSpecReachesTheTrainer) {
  v1alpha1::TrainingJobSpec spec = SpecWithoutDefaults();
  auto config = ReadRunConfig(spec, 0);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->settings.steps, 50);
  EXPECT_EQ(config->training.micro_batch, 3);
  EXPECT_EQ(config->training.micro_batches, 4) << "globalBatch / microBatch";
  EXPECT_EQ(config->training.sequence, 128);
  EXPECT_EQ(config->training.types.compute, c10::ScalarType::BFloat16);
  EXPECT_TRUE(config->settings.copies);
  EXPECT_EQ(config->settings.copy_every_steps, 6);
  EXPECT_EQ(config->settings.copies_room, int64_t{512} << 20) << "of each of four ranks";
  EXPECT_FALSE(config->settings.keeps_replicas);
  EXPECT_EQ(config->settings.event_directory, "/logs");
  EXPECT_EQ(config->training.seed, 7u);
  EXPECT_TRUE(config->training.deterministic);
  EXPECT_EQ(config->settings.validate_every, 11);
  EXPECT_EQ(config->settings.validate_batches, 13);
  EXPECT_EQ(config->training.optimizer.make, &MakeAdamW);
  EXPECT_EQ(config->training.schedule.rate, &LinearRate);
  EXPECT_EQ(config->training.schedule.peak, 0.5);
  EXPECT_EQ(config->training.schedule.warmup_steps, 3);
  EXPECT_EQ(config->training.schedule.final_fraction, 0.25);
  EXPECT_EQ(config->training.optimizer.beta1, 0.5);
  EXPECT_EQ(config->training.optimizer.beta2, 0.75);
  EXPECT_EQ(config->training.optimizer.epsilon, 1e-3);
  EXPECT_EQ(config->training.optimizer.weight_decay, 0.375);
  EXPECT_EQ(config->training.clip_norm, 2.5);
  EXPECT_EQ(config->settings.save_every, absl::Minutes(7));
  EXPECT_EQ(config->settings.save_every_steps, 0);
  EXPECT_EQ(config->step_deadline, absl::Seconds(33));
  EXPECT_EQ(config->keep, 5);
  v1alpha1::OptimizerSpec& optimizer = *spec.mutable_trainer()->mutable_optimizer();
  optimizer.set_schedule("wsd");
  optimizer.set_decay_steps(9);
  for (const auto& [name, make] :
       {std::pair{"lamb", &MakeLamb}, {"lion", &MakeLion}, {"muon", &MakeMuon}}) {
    optimizer.set_name(name);
    config = ReadRunConfig(spec, 0);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->training.optimizer.make, make) << name;
    EXPECT_EQ(config->training.schedule.rate, &WsdRate);
    EXPECT_EQ(config->training.schedule.decay_steps, 9);
  }
  optimizer.set_name("sgd");
  optimizer.set_momentum(0.625);
  spec.mutable_checkpoint()->mutable_interval()->set_mode("Steps");
  spec.mutable_checkpoint()->mutable_interval()->set_steps(17);
  config = ReadRunConfig(spec, 0);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->training.optimizer.make, &MakeSgd);
  EXPECT_EQ(config->training.optimizer.momentum, 0.625);
  EXPECT_EQ(config->settings.save_every_steps, 17);
}

TEST(SpecReaderTest, RefusesImpossibleValues) {
  v1alpha1::TrainingJobSpec spec = Spec();
  spec.mutable_trainer()->mutable_train()->set_micro_batch(5);
  EXPECT_EQ(ReadRunConfig(spec, 0).status().message(),
            "train.globalBatch: 12 must be a multiple of microBatch 5");
  spec = Spec();
  spec.mutable_elastic()->set_step_deadline("soon");
  EXPECT_EQ(ReadRunConfig(spec, 0).status().message(),
            "elastic.stepDeadline: \"soon\" is not a positive duration such as 60s");
}

}  // namespace
}  // namespace muster::trainer
