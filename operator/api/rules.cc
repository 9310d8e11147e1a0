#include "operator/api/rules.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "operator/api/model_rules.h"
#include "operator/api/pod_template.h"
#include "operator/api/recovery_rules.h"
#include "operator/api/unless.h"
#include "planner/layout.h"
#include "proto/muster/v1alpha1/training_queue.pb.h"
#include "re2/re2.h"

namespace muster::control {
namespace {

using v1alpha1::AlertRule;
using v1alpha1::CheckpointInterval;
using v1alpha1::DataSpec;
using v1alpha1::ExitCodeMatch;
using v1alpha1::ExitCodeRange;
using v1alpha1::FailurePolicySpec;
using v1alpha1::FailureRule;
using v1alpha1::ModelSpec;
using v1alpha1::OptimizerSpec;
using v1alpha1::RopeScalingSpec;
using v1alpha1::SpotSpec;
using v1alpha1::TokenizerSpec;
using v1alpha1::TopologySpec;
using v1alpha1::TrainerSpec;
using v1alpha1::TrainingJobSpec;
using v1alpha1::TrainSpec;
using v1alpha1::WorkersSpec;
using Broken = std::optional<std::string>;

constexpr size_t kMaxNameLength = 48;
// The maximum of workers.count.
constexpr int64_t kMostPods = 5000;

Broken JobName(const v1alpha1::TrainingJob& job) {
  const std::string& name = job.metadata().name();
  if (name.empty()) return {};
  const bool letters = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  const bool ends = name.front() >= 'a' && name.front() <= 'z' && name.back() != '-';
  return Unless(letters && ends && name.size() <= kMaxNameLength);
}

Broken QueueName(const v1alpha1::TrainingQueue& queue) {
  static const LazyRE2 kName = {"[a-z0-9]([-a-z0-9]*[a-z0-9])?"};
  const std::string& name = queue.metadata().name();
  return Unless(name.empty() || (name.size() <= 63 && RE2::FullMatch(name, *kName)));
}

Broken QueueOwnParent(const v1alpha1::TrainingQueue& queue) {
  const std::string& parent = queue.spec().parent();
  return Unless(parent.empty() || parent != queue.metadata().name());
}

Broken TuningChanges(const v1alpha1::TuningSpec& tuning) {
  return Unless(tuning.has_learning_rate() || tuning.has_clip_norm());
}

Broken HasProgram(const TrainingJobSpec& spec) {
  return Unless(spec.has_trainer() || !WorkerCommand(spec).empty());
}

Broken OneProgram(const TrainingJobSpec& spec) {
  return Unless(!spec.has_trainer() || WorkerCommand(spec).empty());
}

Broken RanksFitBatch(const TrainingJobSpec& spec) {
  const TrainSpec& train = spec.trainer().train();
  if (train.micro_batch() < 1) return {};
  const int64_t workers = spec.workers().has_max() ? spec.workers().max() : spec.workers().count();
  const int64_t ranks = workers * planner::RanksOf(spec.workers());
  const int64_t micro_batches = train.global_batch() / train.micro_batch();
  const int64_t together = planner::RanksOfMicroBatch(spec.trainer().parallelism());
  return Unless(ranks <= micro_batches * together,
                absl::StrCat("here ", ranks, " ranks and ", train.global_batch(), " / ",
                             train.micro_batch(), " = ", micro_batches, " micro-batches"));
}

// Names the next numbers below and above `shard` that divide `ranks`.
std::string NearestDivisors(int64_t shard, int64_t ranks) {
  int64_t below = std::min(shard, ranks), above = shard;
  while (ranks % below != 0) --below;
  while (above < ranks && ranks % above != 0) ++above;
  if (above >= ranks) above = ranks;
  return above == below ? absl::StrCat(below, " would do")
                        : absl::StrCat(below, " or ", above, " would do");
}

Broken ShardDividesRanks(const TrainingJobSpec& spec) {
  const v1alpha1::ParallelismSpec& parallelism = spec.trainer().parallelism();
  if (!parallelism.has_shard() || parallelism.shard() < 1 || spec.workers().count() < 1) return {};
  const int64_t ranks = int64_t{spec.workers().count()} * planner::RanksOf(spec.workers());
  const int64_t shard = parallelism.shard(), together = planner::RanksOfMicroBatch(parallelism);
  const int64_t groups = std::max(int64_t{1}, ranks / together);
  const std::string counted = together > 1 ? absl::StrCat(ranks, " / ", together, " ranks: ")
                                           : absl::StrCat(ranks, " ranks: ");
  return Unless(ranks % (shard * together) == 0,
                absl::StrCat("here ", shard, " and ", counted, NearestDivisors(shard, groups)));
}

Broken TensorDividesWorker(const TrainingJobSpec& spec) {
  const int64_t tensor = planner::TensorOf(spec.trainer().parallelism());
  const int64_t ranks = planner::RanksOf(spec.workers());
  return Unless(ranks % tensor == 0, absl::StrCat("here ", tensor, " and ", ranks,
                                                  " ranks: ", NearestDivisors(tensor, ranks)));
}

Broken PipelineDividesRanks(const TrainingJobSpec& spec) {
  const v1alpha1::ParallelismSpec& parallelism = spec.trainer().parallelism();
  const int64_t ranks = int64_t{spec.workers().count()} * planner::RanksOf(spec.workers());
  const int64_t groups = ranks / planner::TensorOf(parallelism);
  const int64_t pipeline = planner::PipelineOf(parallelism);
  return Unless(groups < 1 || groups % pipeline == 0,
                absl::StrCat("here ", pipeline, " and ", groups, ": ",
                             NearestDivisors(pipeline, std::max(int64_t{1}, groups))));
}

Broken ContextDividesRanks(const TrainingJobSpec& spec) {
  const v1alpha1::ParallelismSpec& parallelism = spec.trainer().parallelism();
  const int64_t ranks = int64_t{spec.workers().count()} * planner::RanksOf(spec.workers());
  const int64_t together = planner::TensorOf(parallelism) * planner::PipelineOf(parallelism);
  const int64_t groups = ranks / together, context = planner::ContextOf(parallelism);
  if (groups < 1 || ranks % together != 0) return {};  // which another rule says
  return Unless(groups % context == 0, absl::StrCat("here ", context, " and ", groups, ": ",
                                                    NearestDivisors(context, groups)));
}

Broken ContextDividesSequence(const TrainerSpec& trainer) {
  const v1alpha1::ParallelismSpec& parallelism = trainer.parallelism();
  const int64_t context = planner::ContextOf(parallelism), tensor = planner::TensorOf(parallelism);
  const bool ring = parallelism.context_exchange() == "Ring";
  const int64_t sequence = trainer.train().sequence();
  return Unless(context == 1 || sequence < 1 || sequence % (context * tensor * (ring ? 2 : 1)) == 0,
                absl::StrCat("here ", sequence, " must be a multiple of ", context, " x ", tensor,
                             ring ? " x 2" : ""));
}

Broken ContextOfKnownLayers(const TrainerSpec& trainer) {
  return Unless(planner::ContextOf(trainer.parallelism()) == 1 ||
                !trainer.model().has_torch_script());
}

Broken PipelineHasBlocks(const TrainerSpec& trainer) {
  const int64_t pipeline = planner::PipelineOf(trainer.parallelism());
  const int64_t chunks = planner::ChunksOf(trainer.parallelism());
  const int64_t blocks = trainer.model().layers() + 2;
  const std::string of_chunks = chunks == 1 ? "" : absl::StrCat(" x ", chunks);
  return Unless(!trainer.model().has_layers() || pipeline * chunks <= blocks,
                absl::StrCat("here ", pipeline, of_chunks, " and ", blocks));
}

Broken TensorDividesSequence(const TrainerSpec& trainer) {
  const int64_t tensor = planner::TensorOf(trainer.parallelism());
  const int64_t sequence = trainer.train().sequence();
  return Unless(sequence < 1 || sequence % tensor == 0,
                absl::StrCat("here ", tensor, " and ", sequence));
}

Broken TensorOfKnownLayers(const TrainerSpec& trainer) {
  return Unless(planner::TensorOf(trainer.parallelism()) == 1 ||
                !trainer.model().has_torch_script());
}

bool Compresses(const v1alpha1::ActivationsSpec& activations) {
  return activations.has_compress() && activations.compress() != "None";
}

Broken CompressOfKnownLayers(const TrainerSpec& trainer) {
  return Unless(!Compresses(trainer.activations()) || !trainer.model().has_torch_script());
}

bool Rounds(const std::string& numbers) { return !numbers.empty() && numbers != "FP32"; }

Broken DeterministicSendsFp32(const TrainerSpec& trainer) {
  return Unless(!Rounds(trainer.communication().gradients()) || !trainer.train().deterministic());
}

Broken SentWeightsAreDivided(const TrainerSpec& trainer) {
  return Unless(!Rounds(trainer.communication().weights()) || trainer.parallelism().zero() == 3);
}

Broken GroupChanges(const v1alpha1::ParameterGroup& group) {
  return Unless(group.has_rate_factor() || group.has_weight_decay());
}

Broken GroupIsExpression(const v1alpha1::ParameterGroup& group) {
  const re2::RE2 expression(group.match(), re2::RE2::Quiet);
  return Unless(expression.ok(), expression.error());
}

Broken RecomputeEveryOfFull(const v1alpha1::ActivationsSpec& activations) {
  return Unless(!activations.has_recompute_every() || activations.recompute_every() == 1 ||
                activations.recompute() == "Full");
}

Broken CompressOfKept(const v1alpha1::ActivationsSpec& activations) {
  return Unless(!Compresses(activations) || activations.recompute() != "Full" ||
                activations.recompute_every() > 1);
}

Broken ShardOfZero(const v1alpha1::ParallelismSpec& parallelism) {
  return Unless(!parallelism.has_shard() || parallelism.shard() == 1 || parallelism.zero() > 0);
}

Broken MinShardUpToShard(const v1alpha1::ParallelismSpec& parallelism) {
  return Unless(!parallelism.has_min_shard() ||
                (parallelism.has_shard() && parallelism.min_shard() <= parallelism.shard()));
}

Broken ChunksOfInterleaved(const v1alpha1::ParallelismSpec& parallelism) {
  return Unless((parallelism.chunks() > 1) == (parallelism.schedule() == "Interleaved"));
}

Broken OffloadOfDividedWeights(const v1alpha1::ParallelismSpec& parallelism) {
  return Unless(parallelism.offload().weights() != "Disk" || parallelism.zero() == 3);
}

Broken OffloadHasDirectory(const v1alpha1::OffloadSpec& offload) {
  return Unless(offload.has_directory() ||
                (offload.optimizer() != "Disk" && offload.weights() != "Disk"));
}

Broken ScriptWithoutGpus(const TrainingJobSpec& spec) {
  return Unless(!spec.trainer().model().has_torch_script() || spec.workers().gpus() == 0);
}

Broken OffloadWithoutGpus(const TrainingJobSpec& spec) {
  const v1alpha1::OffloadSpec& offload = spec.trainer().parallelism().offload();
  return Unless((offload.optimizer() != "Disk" && offload.weights() != "Disk") ||
                spec.workers().gpus() == 0);
}

Broken RdmaOfTheTrainersGpus(const TrainingJobSpec& spec) {
  return Unless(!spec.has_trainer() || !spec.workers().has_rdma() || spec.workers().gpus() > 0);
}

Broken CommandCheckpoint(const TrainingJobSpec& spec) {
  if (spec.has_trainer() || !spec.has_checkpoint()) return {};
  const v1alpha1::CheckpointSpec& checkpoint = spec.checkpoint();
  return Unless(checkpoint.interval().mode() == "Steps" && checkpoint.interval().steps() == 1000 &&
                checkpoint.keep() == 3 && checkpoint.on_damage() == "UseOlder" &&
                !checkpoint.has_give_up() && !checkpoint.has_memory() && !checkpoint.has_s3());
}

Broken CommandDeadlines(const TrainingJobSpec& spec) {
  if (spec.has_trainer()) return {};
  absl::Duration step;
  absl::Duration rank;
  const bool known = absl::ParseDuration(spec.elastic().step_deadline(), &step) &&
                     absl::ParseDuration(spec.elastic().rank_deadline(), &rank);
  return Unless(!known || (step == absl::Minutes(5) && rank == absl::Seconds(10)));
}

Broken GrowthHasMax(const TrainingJobSpec& spec) {
  return Unless(spec.elastic().policy() != "Grow" || spec.workers().has_max());
}

Broken UtilisationHasRoom(const TrainingJobSpec& spec) {
  const v1alpha1::WorkersSpec& workers = spec.workers();
  const bool may_grow = spec.elastic().policy() == "Grow" && workers.max() > workers.count();
  const bool may_shrink = workers.has_min() && workers.min() < workers.count();
  return Unless(!spec.elastic().has_utilisation() || may_grow || may_shrink);
}

Broken PatienceOfUtilisation(const v1alpha1::UtilisationSpec& utilisation) {
  absl::Duration time;
  if (!absl::ParseDuration(utilisation.for_(), &time)) return {};
  return Unless(time >= absl::Minutes(1) && time <= absl::Hours(24));
}

Broken SnoozeOfGrowth(const v1alpha1::ElasticSpec& elastic) {
  return Unless(elastic.policy() == "Grow" || !elastic.has_snooze());
}

Broken WorkerIsOurs(const TrainingJobSpec& spec) {
  if (!spec.has_trainer()) return {};
  const Json pod_template = PodTemplateOf(spec);
  for (const auto& [index, container] : WorkerContainers(pod_template)) {
    const bool has_image = FindField(*container, {"image"}) != nullptr;
    if (has_image || !ValueField(*container, "args").empty()) return "";
  }
  return {};
}

Broken PodIsPlacedByMuster(const TrainingJobSpec& spec) {
  const Json pod_template = PodTemplateOf(spec);
  const Json* node = FindField(pod_template, {"spec", "nodeName"});
  const Json* policy = FindField(pod_template, {"spec", "restartPolicy"});
  return Unless((node == nullptr || *node == "") && (policy == nullptr || *policy == "Never"));
}

Broken MinWorkers(const WorkersSpec& workers) {
  return Unless(!workers.has_min() || workers.min() <= workers.count(),
                absl::StrCat("here ", workers.min(), " and ", workers.count()));
}

Broken MaxWorkers(const WorkersSpec& workers) {
  return Unless(!workers.has_max() || workers.count() <= workers.max(),
                absl::StrCat("here ", workers.max(), " and ", workers.count()));
}

Broken RanksWithoutGpus(const WorkersSpec& workers) {
  return Unless(workers.gpus() == 0 || workers.ranks() == 1);
}

Broken WarmupFitsSteps(const TrainerSpec& trainer) {
  if (!trainer.train().has_steps()) return {};
  return Unless(
      trainer.optimizer().warmup_steps() <= trainer.train().steps(),
      absl::StrCat("here ", trainer.optimizer().warmup_steps(), " and ", trainer.train().steps()));
}

Broken DecayFitsSteps(const TrainerSpec& trainer) {
  const OptimizerSpec& optimizer = trainer.optimizer();
  if (!trainer.train().has_steps() || optimizer.decay_steps() == 0) return {};
  return Unless(optimizer.warmup_steps() + optimizer.decay_steps() <= trainer.train().steps(),
                absl::StrCat("here ", optimizer.warmup_steps(), ", ", optimizer.decay_steps(),
                             " and ", trainer.train().steps()));
}

Broken TokensHaveVocabulary(const TrainerSpec& trainer) {
  return Unless(trainer.data().format() != "Tokens" || trainer.model().vocabulary() > 0 ||
                trainer.data().tokenizer().has_uri());
}

Broken BytesAreByteTokens(const DataSpec& data) {
  return Unless(data.format() != "Bytes" || !data.has_tokenizer() ||
                data.tokenizer().kind() == "Byte");
}

Broken TokensHaveTheirTokenizer(const DataSpec& data) {
  return Unless(data.format() != "Tokens" || !data.has_tokenizer() ||
                data.tokenizer().kind() != "Bpe" || data.tokenizer().has_uri());
}

Broken TokenTypeOfTokens(const DataSpec& data) {
  return Unless(data.format() == "Tokens" || !data.has_token_type());
}

Broken ByteHasNoOptions(const TokenizerSpec& tokenizer) {
  return Unless(tokenizer.kind() != "Byte" ||
                (!tokenizer.has_uri() && !tokenizer.has_vocabulary()));
}

Broken BpeHasSource(const TokenizerSpec& tokenizer) {
  return Unless(tokenizer.kind() != "Bpe" || tokenizer.has_uri() != tokenizer.has_vocabulary());
}

Broken MicroDividesGlobal(const TrainSpec& train) {
  const int64_t global = train.global_batch();
  const int64_t micro = train.micro_batch();
  if (micro < 1) return {};
  const int64_t below = global / micro * micro;
  return Unless(global % micro == 0, below == 0
                                         ? absl::StrCat("here ", global, " and ", micro)
                                         : absl::StrCat("here ", global, " and ", micro, ": ",
                                                        below, " or ", below + micro, " would do"));
}

Broken MomentumOfSgd(const OptimizerSpec& optimizer) {
  return Unless(optimizer.name() == "sgd" || optimizer.momentum() == 0);
}

Broken BetasOfAdamw(const OptimizerSpec& optimizer) {
  return Unless(optimizer.name() != "sgd" ||
                (optimizer.beta1() == 0.9 && optimizer.beta2() == 0.95));
}

Broken EpsilonOfAdamw(const OptimizerSpec& optimizer) {
  const bool divides = optimizer.name() != "lion" && optimizer.name() != "sgd";
  return Unless(divides || optimizer.epsilon() == 1e-8);
}

Broken FinalFractionOfDecay(const OptimizerSpec& optimizer) {
  const bool ends = optimizer.schedule() != "constant" && optimizer.schedule() != "inverseSqrt";
  return Unless(ends || optimizer.final_fraction() == 0.1);
}

Broken DecayStepsOfWsd(const OptimizerSpec& optimizer) {
  return Unless((optimizer.schedule() == "wsd") == (optimizer.decay_steps() > 0));
}

Broken ManagedBy(const TrainingJobSpec& spec) {
  static const RE2& name = *new RE2(
      "[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/"
      "[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?");
  return Unless(!spec.has_managed_by() || RE2::FullMatch(spec.managed_by(), name));
}

// So many workers, or spares, must be whole slices of the largest kind.
Broken SlicesDivide(const TopologySpec& topology, int32_t workers) {
  if (topology.slices_size() == 0 || topology.slices(0).workers() < 1) return {};
  const int32_t slice = topology.slices(0).workers();
  return Unless(workers % slice == 0, absl::StrCat("here ", workers, " and ", slice));
}

Broken SlicesDivideCount(const TrainingJobSpec& spec) {
  return SlicesDivide(spec.topology(), spec.workers().count());
}

Broken SlicesDivideSpares(const TrainingJobSpec& spec) {
  return SlicesDivide(spec.topology(), spec.workers().spares());
}

Broken SparesWithoutGrowth(const TrainingJobSpec& spec) {
  return Unless(spec.workers().spares() == 0 || spec.elastic().policy() != "Grow");
}

Broken SparesOfEquals(const TrainingJobSpec& spec) {
  return Unless(spec.workers().spares() == 0 || spec.success_policy() != "Leader");
}

Broken PodsWithSpares(const WorkersSpec& workers) {
  const int64_t pods = int64_t{workers.count()} + workers.spares();
  return Unless(pods <= kMostPods, absl::StrCat("here ", pods));
}

Broken LinkTestOfTheTrainer(const TrainingJobSpec& spec) {
  return Unless(spec.has_trainer() || !spec.topology().has_link_test());
}

Broken SpotFloorHasWorkers(const TrainingJobSpec& spec) {
  const WorkersSpec& workers = spec.workers();
  const int32_t most = workers.has_max() ? workers.max() : workers.count();
  return Unless(spec.spot().on_demand_floor() <= most,
                absl::StrCat("here ", spec.spot().on_demand_floor(), " and ", most));
}

Broken SpotAllowed(const SpotSpec& spot) {
  return Unless(spot.allow() || (!spot.has_max_fraction() && !spot.has_on_demand_floor()));
}

Broken SlicesNest(const TopologySpec& topology) {
  for (int i = 1; i < topology.slices_size(); ++i) {
    const int32_t outer = topology.slices(i - 1).workers();
    const int32_t inner = topology.slices(i).workers();
    if (inner > 0 && outer % inner != 0) return absl::StrCat("here ", outer, " and ", inner);
  }
  return {};
}

Broken AlertLossNotFalling(const AlertRule& rule) {
  return Unless((rule.kind() == "LossNotFalling") == rule.has_loss_not_falling());
}

Broken AlertLossSpike(const AlertRule& rule) {
  return Unless((rule.kind() == "LossSpike") == rule.has_loss_spike());
}

Broken AlertThroughputDrop(const AlertRule& rule) {
  return Unless((rule.kind() == "ThroughputDrop") == rule.has_throughput_drop());
}

Broken AlertStalled(const AlertRule& rule) {
  return Unless((rule.kind() == "Stalled") == rule.has_stalled());
}

template <class M, Broken (*check)(const M&)>
Broken Typed(const google::protobuf::Message& message) {
  const M* typed = google::protobuf::DynamicCastToGenerated<M>(&message);
  return typed == nullptr ? Broken() : check(*typed);
}

using RuleTable = std::map<std::string, RuleCheck>;

RuleTable RulesOfJobs() {
  return {{"job-name", Typed<v1alpha1::TrainingJob, JobName>},
          {"queue-name", Typed<v1alpha1::TrainingQueue, QueueName>},
          {"queue-own-parent", Typed<v1alpha1::TrainingQueue, QueueOwnParent>},
          {"has-program", Typed<TrainingJobSpec, HasProgram>},
          {"one-program", Typed<TrainingJobSpec, OneProgram>},
          {"ranks-fit-batch", Typed<TrainingJobSpec, RanksFitBatch>},
          {"shard-divides-ranks", Typed<TrainingJobSpec, ShardDividesRanks>},
          {"tensor-divides-worker", Typed<TrainingJobSpec, TensorDividesWorker>},
          {"pipeline-divides-ranks", Typed<TrainingJobSpec, PipelineDividesRanks>},
          {"context-divides-ranks", Typed<TrainingJobSpec, ContextDividesRanks>},
          {"script-without-gpus", Typed<TrainingJobSpec, ScriptWithoutGpus>},
          {"offload-without-gpus", Typed<TrainingJobSpec, OffloadWithoutGpus>},
          {"rdma-of-the-trainers-gpus", Typed<TrainingJobSpec, RdmaOfTheTrainersGpus>},
          {"command-checkpoint", Typed<TrainingJobSpec, CommandCheckpoint>},
          {"command-deadlines", Typed<TrainingJobSpec, CommandDeadlines>},
          {"growth-has-max", Typed<TrainingJobSpec, GrowthHasMax>},
          {"utilisation-has-room", Typed<TrainingJobSpec, UtilisationHasRoom>},
          {"worker-is-ours", Typed<TrainingJobSpec, WorkerIsOurs>},
          {"pod-is-placed-by-muster", Typed<TrainingJobSpec, PodIsPlacedByMuster>},
          {"copies-without-offload", Typed<TrainingJobSpec, CopiesWithoutOffload>},
          {"managed-by", Typed<TrainingJobSpec, ManagedBy>},
          {"slices-divide-count", Typed<TrainingJobSpec, SlicesDivideCount>},
          {"slices-divide-spares", Typed<TrainingJobSpec, SlicesDivideSpares>},
          {"spares-without-growth", Typed<TrainingJobSpec, SparesWithoutGrowth>},
          {"spares-of-equals", Typed<TrainingJobSpec, SparesOfEquals>},
          {"link-test-of-the-trainer", Typed<TrainingJobSpec, LinkTestOfTheTrainer>},
          {"spot-floor-has-workers", Typed<TrainingJobSpec, SpotFloorHasWorkers>}};
}

RuleTable RulesOfParts() {
  return {{"tensor-divides-sequence", Typed<TrainerSpec, TensorDividesSequence>},
          {"pipeline-has-blocks", Typed<TrainerSpec, PipelineHasBlocks>},
          {"tensor-divides-heads", Typed<TrainerSpec, TensorDividesHeads>},
          {"tensor-of-known-layers", Typed<TrainerSpec, TensorOfKnownLayers>},
          {"context-divides-sequence", Typed<TrainerSpec, ContextDividesSequence>},
          {"context-divides-heads", Typed<TrainerSpec, ContextDividesHeads>},
          {"context-of-known-layers", Typed<TrainerSpec, ContextOfKnownLayers>},
          {"compress-of-known-layers", Typed<TrainerSpec, CompressOfKnownLayers>},
          {"deterministic-sends-fp32", Typed<TrainerSpec, DeterministicSendsFp32>},
          {"sent-weights-are-divided", Typed<TrainerSpec, SentWeightsAreDivided>},
          {"group-changes", Typed<v1alpha1::ParameterGroup, GroupChanges>},
          {"group-is-expression", Typed<v1alpha1::ParameterGroup, GroupIsExpression>},
          {"recompute-every-of-full", Typed<v1alpha1::ActivationsSpec, RecomputeEveryOfFull>},
          {"compress-of-kept", Typed<v1alpha1::ActivationsSpec, CompressOfKept>},
          {"shard-of-zero", Typed<v1alpha1::ParallelismSpec, ShardOfZero>},
          {"min-shard-up-to-shard", Typed<v1alpha1::ParallelismSpec, MinShardUpToShard>},
          {"chunks-of-interleaved", Typed<v1alpha1::ParallelismSpec, ChunksOfInterleaved>},
          {"offload-of-divided-weights", Typed<v1alpha1::ParallelismSpec, OffloadOfDividedWeights>},
          {"offload-has-directory", Typed<v1alpha1::OffloadSpec, OffloadHasDirectory>},
          {"patience-of-utilisation", Typed<v1alpha1::UtilisationSpec, PatienceOfUtilisation>},
          {"snooze-of-growth", Typed<v1alpha1::ElasticSpec, SnoozeOfGrowth>},
          {"min-workers", Typed<WorkersSpec, MinWorkers>},
          {"max-workers", Typed<WorkersSpec, MaxWorkers>},
          {"ranks-without-gpus", Typed<WorkersSpec, RanksWithoutGpus>},
          {"sequence-fits-positions", Typed<TrainerSpec, SequenceFitsPositions>},
          {"warmup-fits-steps", Typed<TrainerSpec, WarmupFitsSteps>},
          {"decay-fits-steps", Typed<TrainerSpec, DecayFitsSteps>},
          {"tokens-have-vocabulary", Typed<TrainerSpec, TokensHaveVocabulary>},
          {"model-has-shape", Typed<ModelSpec, ModelHasShape>},
          {"script-has-shape", Typed<ModelSpec, ScriptHasShape>},
          {"preset-has-family", Typed<ModelSpec, PresetHasFamily>},
          {"heads-divide-width", Typed<ModelSpec, HeadsDivideWidth>},
          {"options-of-llama", Typed<ModelSpec, OptionsOfLlama>},
          {"key-value-heads-divide-heads", Typed<ModelSpec, KeyValueHeadsDivideHeads>},
          {"rope-turns-pairs", Typed<ModelSpec, RopeTurnsPairs>},
          {"rope-scaling-of-kind", Typed<RopeScalingSpec, RopeScalingOfKind>},
          {"frequency-factors-order", Typed<RopeScalingSpec, FrequencyFactorsOrder>},
          {"bytes-are-byte-tokens", Typed<DataSpec, BytesAreByteTokens>},
          {"tokens-have-their-tokenizer", Typed<DataSpec, TokensHaveTheirTokenizer>},
          {"token-type-of-tokens", Typed<DataSpec, TokenTypeOfTokens>},
          {"byte-has-no-options", Typed<TokenizerSpec, ByteHasNoOptions>},
          {"bpe-has-source", Typed<TokenizerSpec, BpeHasSource>},
          {"micro-divides-global", Typed<TrainSpec, MicroDividesGlobal>},
          {"momentum-of-sgd", Typed<OptimizerSpec, MomentumOfSgd>},
          {"betas-of-adamw", Typed<OptimizerSpec, BetasOfAdamw>},
          {"epsilon-of-adamw", Typed<OptimizerSpec, EpsilonOfAdamw>},
          {"final-fraction-of-decay", Typed<OptimizerSpec, FinalFractionOfDecay>},
          {"decay-steps-of-wsd", Typed<OptimizerSpec, DecayStepsOfWsd>},
          {"tuning-changes", Typed<v1alpha1::TuningSpec, TuningChanges>},
          {"interval-steps", Typed<CheckpointInterval, IntervalSteps>},
          {"interval-time", Typed<CheckpointInterval, IntervalTime>},
          {"interval-min", Typed<CheckpointInterval, IntervalMin>},
          {"interval-max", Typed<CheckpointInterval, IntervalMax>},
          {"object-uri", Typed<v1alpha1::CheckpointSpec, ObjectUriIsValid>},
          {"store-of-object-uri", Typed<v1alpha1::CheckpointSpec, StoreOfObjectUri>},
          {"disk-beside-uri", Typed<v1alpha1::CheckpointSpec, DiskBesideUri>},
          {"interval-order", Typed<CheckpointInterval, IntervalOrder>},
          {"slices-nest", Typed<TopologySpec, SlicesNest>},
          {"pods-with-spares", Typed<WorkersSpec, PodsWithSpares>},
          {"spot-allowed", Typed<SpotSpec, SpotAllowed>},
          {"backoff-order", Typed<FailurePolicySpec, BackoffOrder>},
          {"rule-has-matcher", Typed<FailureRule, RuleHasMatcher>},
          {"log-pattern-compiles", Typed<FailureRule, LogPatternCompiles>},
          {"exit-codes-given", Typed<ExitCodeMatch, ExitCodesGiven>},
          {"range-order", Typed<ExitCodeRange, RangeOrder>},
          {"alert-loss-not-falling", Typed<AlertRule, AlertLossNotFalling>},
          {"alert-loss-spike", Typed<AlertRule, AlertLossSpike>},
          {"alert-throughput-drop", Typed<AlertRule, AlertThroughputDrop>},
          {"alert-stalled", Typed<AlertRule, AlertStalled>}};
}

}  // namespace

const std::map<std::string, RuleCheck>& RuleChecks() {
  static const auto& checks = *[] {
    auto* all = new RuleTable(RulesOfJobs());
    all->merge(RulesOfParts());
    return all;
  }();
  return checks;
}

std::vector<std::string> WorkerCommand(const v1alpha1::TrainingJobSpec& spec) {
  const Json pod_template = PodTemplateOf(spec);
  std::vector<std::string> command;
  for (const auto& [index, container] : WorkerContainers(pod_template)) {
    for (std::string& word : StringsField(*container, "command")) {
      command.push_back(std::move(word));
    }
  }
  return command;
}

}  // namespace muster::control
