#include "trainer/process/spec_reader.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/byte_text.h"
#include "base/status_macros.h"
#include "planner/activations.h"
#include "planner/layout.h"
#include "planner/memory.h"
#include "proto/muster/v1alpha1/checkpoint_defaults.h"
#include "trainer/commit/spike_watch.h"
#include "trainer/commit/tunings.h"
#include "trainer/engine/link/sent_numbers.h"
#include "trainer/optim/registry.h"
#include "trainer/precision/precision.h"

namespace muster::trainer {
namespace {

template <typename T>
T Or(bool present, T value, T otherwise) {
  return present ? value : otherwise;
}

absl::StatusOr<absl::Duration> ReadDuration(const std::string& text, const char* field,
                                            absl::Duration otherwise) {
  if (text.empty()) return otherwise;
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) || duration <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": \"", text, "\" is not a positive duration such as 60s"));
  }
  return duration;
}

absl::Status ReadTrain(const v1alpha1::TrainSpec& train, RunConfig& config) {
  TrainingOptions& options = config.training;
  const int64_t global = Or(train.has_global_batch(), train.global_batch(), 32);
  options.micro_batch = Or(train.has_micro_batch(), train.micro_batch(), 4);
  if (options.micro_batch < 1 || global < 1 || global % options.micro_batch != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "train.globalBatch: ", global, " must be a multiple of microBatch ", options.micro_batch));
  }
  options.micro_batches = global / options.micro_batch;
  options.sequence = Or(train.has_sequence(), train.sequence(), 256);
  options.seed = static_cast<uint64_t>(Or<int64_t>(train.has_seed(), train.seed(), 1));
  options.deterministic = train.deterministic();
  const std::string precision = train.has_precision() ? train.precision() : "fp32";
  MUSTER_ASSIGN_OR_RETURN(const planner::Precision parsed, planner::ParsePrecision(precision));
  options.types = TypesOf(parsed);
  config.settings.steps = train.steps();
  config.settings.validate_every = Or(train.has_validate_every(), train.validate_every(), 100);
  config.settings.validate_batches = Or(train.has_validate_batches(), train.validate_batches(), 8);
  const v1alpha1::SkippedStepsSpec& skipped = train.skipped_steps();
  options.max_skipped_in_row = Or<int64_t>(skipped.has_max_in_row(), skipped.max_in_row(), 10);
  options.max_skipped_total = Or<int64_t>(skipped.has_max_total(), skipped.max_total(), 100);
  return absl::OkStatus();
}

absl::Status ReadOptimizer(const v1alpha1::OptimizerSpec& spec, RunConfig& config) {
  const std::string name = spec.has_name() ? spec.name() : "adamw";
  OptimizerOptions& optimizer = config.training.optimizer;
  MUSTER_ASSIGN_OR_RETURN(optimizer.make, Optimizers().Find(name));
  optimizer.beta1 = Or(spec.has_beta1(), spec.beta1(), 0.9);
  optimizer.beta2 = Or(spec.has_beta2(), spec.beta2(), 0.95);
  optimizer.epsilon = Or(spec.has_epsilon(), spec.epsilon(), 1e-8);
  optimizer.weight_decay = Or(spec.has_weight_decay(), spec.weight_decay(), 0.1);
  optimizer.momentum = spec.momentum();
  for (const v1alpha1::ParameterGroup& group : spec.groups()) {
    ParameterGroup& out = optimizer.groups.emplace_back();
    out.match = group.match();
    if (group.has_rate_factor()) out.rate_factor = group.rate_factor();
    if (group.has_weight_decay()) out.weight_decay = group.weight_decay();
  }
  config.training.clip_norm = Or(spec.has_clip_norm(), spec.clip_norm(), 1.0);
  Schedule& schedule = config.training.schedule;
  MUSTER_ASSIGN_OR_RETURN(schedule.rate,
                          Schedules().Find(spec.has_schedule() ? spec.schedule() : "cosine"));
  schedule.peak = Or(spec.has_learning_rate(), spec.learning_rate(), 3e-4);
  schedule.warmup_steps = spec.warmup_steps();
  schedule.steps = config.settings.steps;
  schedule.final_fraction = Or(spec.has_final_fraction(), spec.final_fraction(), 0.1);
  schedule.decay_steps = spec.decay_steps();
  return absl::OkStatus();
}

absl::Status ReadWatch(const v1alpha1::WatchSpec& spec, WatchRules& rules) {
  const std::string name = spec.has_on_spike() ? spec.on_spike() : "Skip";
  using enum SpikeResponse;
  constexpr std::pair<const char*, SpikeResponse> kResponses[] = {
      {"Skip", kSkip}, {"LowerRate", kLowerRate}, {"Stop", kStop}, {"Report", kReport}};
  for (const auto& [known, response] : kResponses) {
    if (name == known) rules.response = response;
  }
  if (rules.response == kOff) {
    return absl::InvalidArgumentError(absl::StrCat("trainer.watch.onSpike: \"", name,
                                                   "\" must be Skip, LowerRate, Stop or Report"));
  }
  rules.deviations = Or(spec.has_deviations(), spec.deviations(), 10.0);
  rules.rate_factor = Or(spec.has_rate_factor(), spec.rate_factor(), 0.5);
  rules.max_in_row = Or(spec.has_max_in_row(), spec.max_in_row(), 3);
  return absl::OkStatus();
}

CommunicationOptions ReadCommunication(const v1alpha1::CommunicationSpec& spec) {
  const auto numbers = [](const std::string& name) {
    if (name == "BF16") return SentNumbers::kBf16;
    return name == "INT8" ? SentNumbers::kInt8 : SentNumbers::kWhole;
  };
  return {.gradients = numbers(spec.gradients()), .weights = numbers(spec.weights())};
}

std::vector<Tuning> ReadTunings(const v1alpha1::TrainerSpec& spec) {
  std::vector<Tuning> tunings;
  for (const v1alpha1::TuningSpec& tuning : spec.tunings()) {
    Tuning& out = tunings.emplace_back();
    out.step = tuning.from_step();
    if (tuning.has_learning_rate()) out.learning_rate = tuning.learning_rate();
    if (tuning.has_clip_norm()) out.clip_norm = tuning.clip_norm();
  }
  return tunings;
}

PipelineSchedule ScheduleOf(const std::string& name) {
  if (name == "ZeroBubble") return PipelineSchedule::kZeroBubble;
  if (name == "Interleaved") return PipelineSchedule::kInterleaved;
  if (name == "ZeroBubbleV") return PipelineSchedule::kZeroBubbleV;
  return PipelineSchedule::kOneForwardOneBackward;
}

absl::Status ReadParallelism(const v1alpha1::ParallelismSpec& spec, TrainingOptions& options) {
  options.divided = {.values = spec.zero() >= 3, .gradients = spec.zero() >= 2};
  options.parts = planner::TensorOf(spec);
  options.stages = planner::PipelineOf(spec);
  options.chunks = planner::ChunksOf(spec);
  options.pipeline_schedule = ScheduleOf(spec.schedule());
  options.context_exchange = spec.context_exchange() == "Ring" && planner::ContextOf(spec) > 1
                                 ? ContextExchange::kRing
                                 : ContextExchange::kHeads;
  OffloadOptions& offload = options.offload;
  offload.optimizer = spec.offload().optimizer() == "Disk";
  offload.weights = spec.offload().weights() == "Disk";
  if (offload.weights && !options.divided.values) {
    return absl::InvalidArgumentError(
        "trainer.parallelism.offload.weights: Disk needs zero: 3, so that each rank keeps weights "
        "while it uses them only");
  }
  if (!offload.optimizer && !offload.weights) return absl::OkStatus();
  offload.directory = spec.offload().directory();
  if (!offload.directory.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "trainer.parallelism.offload.directory: what is kept on disk needs a directory");
}

absl::Status ReadCopies(const v1alpha1::TrainingJobSpec& spec, TrainerSettings& settings) {
  if (!spec.checkpoint().has_memory()) return absl::OkStatus();
  const v1alpha1::MemoryCheckpointSpec& memory = spec.checkpoint().memory();
  const std::optional<int64_t> size = ParseBytes(memory.size());
  if (!size) {
    return absl::InvalidArgumentError(
        absl::StrCat("checkpoint.memory.size: \"", memory.size(), "\" is no size such as 4Gi"));
  }
  settings.copies = true;
  settings.copy_every_steps = std::max<int64_t>(0, memory.every_steps());
  settings.keeps_replicas = memory.replicas() > 0;
  settings.copies_room = *size / std::max(1, planner::RanksOf(spec.workers()));
  // The other half is for the replicas that the worker's agent keeps of another's copies.
  if (settings.keeps_replicas) settings.copies_room /= 2;
  return absl::OkStatus();
}

// The keys of the store may change; living ranks keep theirs.
std::string StoreOf(const v1alpha1::TrainingJobSpec& spec) {
  const v1alpha1::S3Spec& store = spec.checkpoint().s3();
  return absl::StrCat(store.endpoint(), " ", v1alpha1::RegionOf(store));
}

template <typename Message>
bool Same(const Message& a, const Message& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

}  // namespace

absl::Status CheckSameSources(const v1alpha1::TrainingJobSpec& opened,
                              const v1alpha1::TrainingJobSpec& wanted) {
  const char* field = nullptr;
  if (!Same(opened.trainer().model(), wanted.trainer().model())) field = "trainer.model";
  if (!Same(opened.trainer().data(), wanted.trainer().data())) field = "trainer.data";
  if (opened.checkpoint().uri() != wanted.checkpoint().uri()) field = "checkpoint.uri";
  if (StoreOf(opened) != StoreOf(wanted)) field = "checkpoint.s3";
  if (field == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(field,
                   " has changed, and running ranks keep what they opened: put it back, or "
                   "suspend the job, make the change, and resume it; its checkpoints are used only "
                   "if they are of the same data and model"));
}

absl::StatusOr<RunConfig> ReadRunConfig(const v1alpha1::TrainingJobSpec& spec, int local_rank) {
  RunConfig config;
  config.settings.local_rank = local_rank;
  MUSTER_RETURN_IF_ERROR(ReadTrain(spec.trainer().train(), config));
  MUSTER_RETURN_IF_ERROR(ReadParallelism(spec.trainer().parallelism(), config.training));
  config.training.activations = planner::ActivationsOf(spec.trainer().activations());
  MUSTER_RETURN_IF_ERROR(ReadOptimizer(spec.trainer().optimizer(), config));
  if (spec.trainer().has_watch()) {
    MUSTER_RETURN_IF_ERROR(ReadWatch(spec.trainer().watch(), config.training.watch));
    config.settings.compare_every = spec.trainer().watch().compare_every();
  }
  config.training.communication = ReadCommunication(spec.trainer().communication());
  config.settings.tunings = ReadTunings(spec.trainer());
  const v1alpha1::CheckpointInterval& interval = spec.checkpoint().interval();
  if (interval.mode() == "Auto") {
    // The operator orders checkpoints; while it is away, the longest interval is kept.
    MUSTER_ASSIGN_OR_RETURN(
        config.settings.save_every,
        ReadDuration(interval.max(), "checkpoint.interval.max", v1alpha1::kAutoIntervalMost));
  } else if (interval.mode() == "Time") {
    MUSTER_ASSIGN_OR_RETURN(
        config.settings.save_every,
        ReadDuration(interval.time(), "checkpoint.interval.time", absl::Minutes(10)));
  } else {
    config.settings.save_every_steps = interval.steps();
  }
  config.settings.event_directory = spec.trainer().logs().tensor_board();
  MUSTER_RETURN_IF_ERROR(ReadCopies(spec, config.settings));
  config.keep = Or<int>(spec.checkpoint().has_keep(), spec.checkpoint().keep(), 3);
  MUSTER_ASSIGN_OR_RETURN(
      config.step_deadline,
      ReadDuration(spec.elastic().step_deadline(), "elastic.stepDeadline", absl::Minutes(5)));
  // Ranks that see the mark wait for the others meanwhile.
  config.settings.mark_seen_within =
      std::min(config.settings.mark_seen_within, config.step_deadline / 2);
  return config;
}

}  // namespace muster::trainer
