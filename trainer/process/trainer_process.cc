#include "trainer/process/trainer_process.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/logging.h"
#include "base/object_store/object_uri.h"
#include "base/object_store/storage.h"
#include "base/status_macros.h"
#include "c10/core/ScalarType.h"
#include "planner/fp8.h"
#include "planner/layout.h"
#include "planner/logits_rows.h"
#include "planner/memory.h"
#include "planner/model_presets.h"
#include "trainer/data/tensor_feed.h"
#include "trainer/data/token_check.h"
#include "trainer/data/tokens.h"
#include "trainer/engine/store/checkpoint_store.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/model/parameter.h"
#include "trainer/model/torchscript/script_model.h"
#include "trainer/process/memory_check.h"
#include "trainer/process/pretrained_initial_weights.h"
#include "trainer/process/process_network.h"
#include "trainer/process/script_initial_weights.h"
#include "trainer/process/spec_reader.h"

namespace muster::trainer {
namespace {

DatasetOptions ReadData(const v1alpha1::DataSpec& spec, int64_t sequence,
                        const std::string& cache_directory) {
  DatasetOptions data;
  data.path = spec.uri();
  if (spec.format() == "Bytes") data.format = DatasetOptions::Format::kBytes;
  if (spec.format() == "Tokens") data.format = DatasetOptions::Format::kTokens;
  if (spec.token_type() == "U32") data.token_type = TokenType::kU32;
  if (spec.tokenizer().kind() == "Bpe") data.tokenizer = DatasetOptions::TokenizerKind::kBpe;
  data.tokenizer_path = spec.tokenizer().uri();
  data.tokenizer_vocabulary = static_cast<uint32_t>(spec.tokenizer().vocabulary());
  data.validation = spec.has_validation() ? spec.validation() : 0.05;
  data.sequence = sequence;
  data.cache_directory = cache_directory;
  return data;
}

// Returns among how many ranks a round of all the job's workers divides the optimizer's state.
int ShardsOf(const v1alpha1::TrainingJobSpec& spec) {
  const int ranks = std::max(1, spec.workers().count()) * planner::RanksOf(spec.workers());
  return planner::LayOutRanks(spec.trainer().parallelism(), ranks).shard();
}

int64_t ElementCount(const ParameterSpec& parameter) {
  return std::accumulate(parameter.shape.begin(), parameter.shape.end(), int64_t{1},
                         std::multiplies<>());
}

absl::StatusOr<planner::Precision> PrecisionOf(const v1alpha1::TrainingJobSpec& spec) {
  const v1alpha1::TrainSpec& train = spec.trainer().train();
  return planner::ParsePrecision(train.has_precision() ? train.precision() : "fp32");
}

absl::StatusOr<planner::OptimizerKind> OptimizerOf(const v1alpha1::TrainingJobSpec& spec) {
  const v1alpha1::OptimizerSpec& optimizer = spec.trainer().optimizer();
  return planner::ParseOptimizer(optimizer.has_name() ? optimizer.name() : "adamw",
                                 optimizer.momentum());
}

// A copy in memory is taken through memory of its own, like a checkpoint. The room of the copies
// themselves is checked when there is a round, whose layout decides it.
void CountCopies(const v1alpha1::TrainingJobSpec& spec, planner::MemoryEstimate& memory) {
  if (spec.checkpoint().has_memory()) memory.checkpoint_copy *= 2;
}

// Returns the memory that a rank of the job needs while so many ranks divide a copy of the state.
absl::StatusOr<planner::MemoryEstimate> EstimateRank(const v1alpha1::TrainingJobSpec& spec,
                                                     const planner::ModelShape& shape,
                                                     const TrainingOptions& training, int shards) {
  MUSTER_ASSIGN_OR_RETURN(const planner::Precision precision, PrecisionOf(spec));
  MUSTER_ASSIGN_OR_RETURN(const planner::OptimizerKind kind, OptimizerOf(spec));
  const v1alpha1::ParallelismSpec& parallelism = spec.trainer().parallelism();
  const planner::WorkDivision division{
      .tensor = training.parts,
      .stages = training.stages,
      .chunks = training.chunks,
      .folded = FormOf(training.pipeline_schedule) == StageForm::kFolded,
      .context = planner::ContextOf(parallelism),
      .ring = training.context_exchange == ContextExchange::kRing,
      .activations = training.activations};
  const planner::MemoryEstimate whole = planner::EstimateMemory(
      shape, precision, static_cast<int32_t>(training.micro_batch),
      static_cast<int32_t>(training.sequence), kind,
      training.device.is_cpu() ? planner::LogitsPlace::kCpu : planner::LogitsPlace::kGpu, division);
  planner::MemoryEstimate memory = planner::DivideMemory(
      whole, planner::UnitSizesOf(shape, division), parallelism.zero(), shards,
      {.optimizer = training.offload.optimizer, .weights = training.offload.weights});
  if (training.deterministic) memory.gradients = whole.gradients;
  CountCopies(spec, memory);
  return memory;
}

// Returns the ways in which the ranks can divide the state, compute activations again, or keep
// state on disk, beyond those that the job asks for, from the cheapest on.
absl::StatusOr<std::vector<MemoryOption>> OptionsOf(const v1alpha1::TrainingJobSpec& spec,
                                                    const planner::ModelShape& shape,
                                                    const TrainingOptions& training) {
  std::vector<MemoryOption> options;
  const int now = spec.trainer().parallelism().zero();
  const bool keeps = training.activations.recompute_every != 1;
  const auto add = [&](const std::string& change, int zero, bool recomputes,
                       bool offloads) -> absl::Status {
    v1alpha1::TrainingJobSpec changed = spec;
    changed.mutable_trainer()->mutable_parallelism()->set_zero(zero);
    TrainingOptions other = training;
    if (recomputes) other.activations = {.recompute_every = 1};
    other.offload.optimizer |= offloads;
    other.offload.weights |= offloads && zero == 3;
    MUSTER_ASSIGN_OR_RETURN(const planner::MemoryEstimate estimate,
                            EstimateRank(changed, shape, other, ShardsOf(changed)));
    options.push_back({absl::StrCat("trainer.", change), estimate});
    return absl::OkStatus();
  };
  for (int zero = now + 1; zero <= 3; ++zero) {
    MUSTER_RETURN_IF_ERROR(add(absl::StrCat("parallelism {zero: ", zero, "}"), zero,
                               /*recomputes=*/false, /*offloads=*/false));
  }
  if (keeps) {
    const std::string recompute = "activations {recompute: Full}";
    MUSTER_RETURN_IF_ERROR(add(recompute, now, /*recomputes=*/true, /*offloads=*/false));
    if (now < 3) {
      MUSTER_RETURN_IF_ERROR(add(absl::StrCat(recompute, " and trainer.parallelism {zero: 3}"), 3,
                                 /*recomputes=*/true, /*offloads=*/false));
    }
  }
  const bool may_offload = training.device.is_cpu() && !spec.checkpoint().has_memory();
  if (!may_offload) return options;
  MUSTER_RETURN_IF_ERROR(
      add("parallelism {zero: 3, offload: {optimizer: Disk, weights: Disk, directory: FOLDER}}", 3,
          /*recomputes=*/false, /*offloads=*/true));
  return options;
}

planner::UnitSizes UnitSizesOf(const Model& model) {
  std::set<std::string> names;
  planner::UnitSizes units{.blocks = static_cast<int64_t>(model.blocks.size())};
  for (const auto& block : model.blocks) {
    const int64_t before = units.parameters;
    for (const ParameterSpec& parameter : block->parameters()) {
      if (names.insert(parameter.name).second) units.parameters += ElementCount(parameter);
      if (parameter.shape.size() == 2) {
        units.matrix = std::max(units.matrix, ElementCount(parameter));
      }
    }
    units.block = std::max(units.block, units.parameters - before);
  }
  return units;
}

// Returns the memory that a rank needs for a TorchScript model, estimated from its parameters
// alone: nothing else is known of it.
absl::StatusOr<planner::MemoryEstimate> EstimateScriptRank(const v1alpha1::TrainingJobSpec& spec,
                                                           const planner::UnitSizes& units,
                                                           const TrainingOptions& training,
                                                           int shards) {
  MUSTER_ASSIGN_OR_RETURN(const planner::Precision precision, PrecisionOf(spec));
  MUSTER_ASSIGN_OR_RETURN(const planner::OptimizerKind kind, OptimizerOf(spec));
  const planner::MemoryEstimate whole =
      planner::EstimateState(units.parameters, precision, kind, units.matrix);
  planner::MemoryEstimate memory =
      planner::DivideMemory(whole, units, spec.trainer().parallelism().zero(), shards);
  if (training.deterministic) memory.gradients = whole.gradients;
  // The file is in memory while the first weights are taken from it, before any checkpoint.
  memory.checkpoint_copy = std::max(memory.checkpoint_copy, whole.parameters);
  CountCopies(spec, memory);
  return memory;
}

// Text cannot hold ids that its tokenizer does not have; a file of tokens can.
absl::Status CheckIds(const Dataset& dataset, const v1alpha1::DataSpec& spec, int64_t vocabulary) {
  if (spec.format() != "Tokens") return absl::OkStatus();
  for (const Tokens* part : {&dataset.training, &dataset.validation}) {
    const absl::Status checked = CheckTokenIds(*part, vocabulary);
    if (checked.ok()) continue;
    const char* const which = part == &dataset.training ? "" : "in its end, kept for validation, ";
    return absl::Status(checked.code(),
                        absl::StrCat("data.uri: ", spec.uri(), ": ", which, checked.message()));
  }
  return absl::OkStatus();
}

// Refuses another job's checkpoints: they are neither read nor written. Whether the directory can
// be written at all matters only when training begins, and when it saves: see Trainer::Join.
absl::Status Claim(CheckpointStore& store) {
  const absl::Status claimed = store.Claim();
  if (absl::IsAlreadyExists(claimed)) {
    return absl::InvalidArgumentError(absl::StrCat("checkpoint.uri: ", claimed.message()));
  }
  if (!claimed.ok()) {
    MUSTER_LOG(WARN, "the checkpoint directory cannot be claimed so far", {"error", claimed});
  }
  return absl::OkStatus();
}

// The job's key is NAMESPACE/NAME.
std::unique_ptr<EventLog> MakeEventLog(const std::string& job, Files& files, const Clock& clock) {
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == 0) host[0] = '-';
  return std::make_unique<EventLog>(files, clock, BaseName(job), absl::StrCat(host, ".", getpid()));
}

}  // namespace

absl::Status TrainerProcess::OpenData(const v1alpha1::TrainerSpec& spec,
                                      const ProcessOptions& options, Files& files) {
  const TrainingOptions& training = config_.training;
  MUSTER_ASSIGN_OR_RETURN(dataset_, OpenDataset(files, ReadData(spec.data(), training.sequence,
                                                                options.cache_directory)));
  const bool from_model = dataset_.vocabulary == 0;
  const int64_t vocabulary = from_model ? spec.model().vocabulary() : int64_t{dataset_.vocabulary};
  if (vocabulary == 0) {
    return absl::InvalidArgumentError("the model's vocabulary is unknown: set model.vocabulary");
  }
  MUSTER_RETURN_IF_ERROR(CheckIds(dataset_, spec.data(), vocabulary));
  MUSTER_ASSIGN_OR_RETURN(source_, BatchSource::Create(dataset_.training, dataset_.validation,
                                                       {.sequence = training.sequence,
                                                        .micro_batch = training.micro_batch,
                                                        .seed = training.seed,
                                                        .vocabulary = vocabulary,
                                                        .prefetch = 4}));
  feed_ = std::make_unique<TensorFeed>(*source_);
  data_ = std::make_unique<DataDigester>(dataset_.token_file, dataset_.sources, dataset_.training,
                                         dataset_.validation);
  return absl::OkStatus();
}

absl::Status TrainerProcess::CheckFits(int shards) const {
  MUSTER_ASSIGN_OR_RETURN(const planner::MemoryEstimate memory, estimate_(shards));
  std::vector<MemoryOption> options;
  // A smaller round has no choice: the job's owner is not asked before it.
  if (options_ != nullptr && shards == ShardsOf(spec_)) {
    MUSTER_ASSIGN_OR_RETURN(options, options_());
  }
  return CheckMemoryOf(device_, memory, ranks_starting_, available_, options);
}

absl::StatusOr<Model> TrainerProcess::BuildScriptModel(const v1alpha1::TrainingJobSpec& spec,
                                                       Files& files) {
  const v1alpha1::ModelSpec& wanted = spec.trainer().model();
  const TrainingOptions& training = config_.training;
  if (training.types.compute != training.types.parameters) {
    return absl::InvalidArgumentError(
        absl::StrCat("train.precision: ", spec.trainer().train().precision(),
                     " is no precision of a model of trainer.model.torchScript, whose own code "
                     "says what it computes in which type: use fp32 or fp64"));
  }
  MUSTER_ASSIGN_OR_RETURN(
      vocabulary_, planner::ResolveVocabulary(wanted, static_cast<int32_t>(dataset_.vocabulary)));
  MUSTER_ASSIGN_OR_RETURN(Model model,
                          LoadScriptModel(files, wanted.torch_script(), training.types.parameters));
  const planner::UnitSizes units = UnitSizesOf(model);
  estimate_ = [this, units](int shards) {
    return EstimateScriptRank(spec_, units, config_.training, shards);
  };
  MUSTER_LOG(INFO, "the memory for activations of a TorchScript model is not known, nor checked",
             {"parameters", units.parameters});
  MUSTER_RETURN_IF_ERROR(CheckFits(ShardsOf(spec)));
  return model;
}

absl::StatusOr<Model> TrainerProcess::BuildModel(const v1alpha1::TrainingJobSpec& spec,
                                                 Files& files) {
  if (spec.trainer().model().has_torch_script()) return BuildScriptModel(spec, files);
  MUSTER_ASSIGN_OR_RETURN(
      const planner::ModelShape shape,
      planner::ResolveModel(spec.trainer().model(), static_cast<int32_t>(dataset_.vocabulary)));
  const TrainingOptions& training = config_.training;
  if (training.sequence > shape.positions) {
    return absl::InvalidArgumentError(absl::StrCat("train.sequence: ", training.sequence,
                                                   " is longer than the model's ", shape.positions,
                                                   " positions"));
  }
  if (training.types.fp8) {
    MUSTER_RETURN_IF_ERROR(planner::CheckFp8(shape, training.micro_batch, training.sequence,
                                             training.parts,
                                             planner::ContextOf(spec.trainer().parallelism())));
  }
  estimate_ = [this, shape](int shards) {
    return EstimateRank(spec_, shape, config_.training, shards);
  };
  options_ = [this, shape] { return OptionsOf(spec_, shape, config_.training); };
  MUSTER_RETURN_IF_ERROR(CheckFits(ShardsOf(spec)));
  vocabulary_ = shape.vocabulary;
  return MakeModel(shape);
}

std::unique_ptr<InitialWeights> TrainerProcess::MakeInitialWeights(Files& files,
                                                                   const Model& model) const {
  const v1alpha1::ModelSpec& spec = spec_.trainer().model();
  if (spec.has_torch_script()) {
    return std::make_unique<ScriptInitialWeights>(files, spec.torch_script(),
                                                  config_.training.types.parameters);
  }
  if (spec.uri().empty()) return nullptr;
  const char* const vocabulary =
      spec.vocabulary() > 0 ? "model.vocabulary"
                            : "the tokenizer's, rounded up to a multiple of 64: model.vocabulary "
                              "can set another";
  return std::make_unique<PretrainedInitialWeights>(files, spec.uri(), model, vocabulary);
}

absl::StatusOr<RunConfig> TrainerProcess::ReadConfig(const v1alpha1::TrainingJobSpec& spec,
                                                     int local_rank) const {
  MUSTER_ASSIGN_OR_RETURN(RunConfig config, ReadRunConfig(spec, local_rank));
  config.training.device = device_.device;
  if (config.training.types.fp8) MUSTER_RETURN_IF_ERROR(CheckFp8Of(device_));
  return config;
}

std::unique_ptr<RoundNetwork> TrainerProcess::MakeNetwork(const std::string& host) const {
  const absl::Duration deadline = config_.step_deadline;
  auto network = MakeGlooNetwork(host, deadline);
  if (device_.runtime == nullptr) return network;
  return MakeDeviceNetwork(std::move(network), device_, deadline);
}

SpecReader TrainerProcess::MakeSpecReader() const {
  return [this](const v1alpha1::TrainingJobSpec& wanted) -> absl::StatusOr<RunConfig> {
    MUSTER_RETURN_IF_ERROR(CheckSameSources(spec_, wanted));
    return ReadConfig(wanted, config_.settings.local_rank);
  };
}

RoundFitCheck TrainerProcess::MakeFitCheck() const {
  return [this](int shards) {
    return CheckRound(shards, ShardsOf(spec_), [this](int among) { return CheckFits(among); });
  };
}

ValidationData TrainerProcess::ReadValidation() const {
  return {.batches = static_cast<int>(std::min<int64_t>(source_->validation_batches(), INT_MAX)),
          .unigram_entropy = dataset_.unigram_entropy};
}

void TrainerProcess::WarnOfSlowPrecision(const Clock& clock) const {
  // Ranks of one worker run on the same CPU, so only one of them warns. Every GPU that is supported
  // has fast bfloat16.
  const c10::ScalarType compute = config_.training.types.compute;
  if (device_.runtime != nullptr || config_.settings.local_rank != 0) return;
  if (compute == c10::ScalarType::Half) {
    MUSTER_LOG(WARN,
               "train.precision fp16 has a GPU's numbers on a CPU, which multiplies them in fp32, "
               "and not its speed");
    return;
  }
  if (compute != c10::ScalarType::BFloat16) return;
  if (config_.training.types.fp8) {
    MUSTER_LOG(WARN,
               "train.precision fp8 has a GPU's numbers on a CPU, which computes them in software, "
               "and not its speed");
    return;
  }
  const absl::StatusOr<ProductTimes> times = MeasureProducts(clock);
  if (!times.ok()) {
    MUSTER_LOG(WARN, "bfloat16 could not be timed", {"error", times.status()});
  } else if (const auto slow = SlowBf16(*times)) {
    MUSTER_LOG(WARN, *slow);
  }
}

void TrainerProcess::Announce() const {
  MUSTER_LOG(INFO, "data opened", {"training_tokens", dataset_.training.size()},
             {"validation_tokens", dataset_.validation.size()}, {"vocabulary", vocabulary_},
             {"unigram_entropy", dataset_.unigram_entropy});
  if (config_.training.deterministic) {
    MUSTER_LOG(INFO, "settings of deterministic mode",
               {"record", DumpJson(DeterminismRecord(config_.training))});
  }
}

absl::Status TrainerProcess::OpenCheckpoints(const v1alpha1::TrainerConfigure& configure,
                                             Files& files, const Clock& clock, Outbox& outbox) {
  const v1alpha1::CheckpointSpec& spec = configure.spec().checkpoint();
  if (spec.uri().empty()) return absl::OkStatus();
  if (IsObjectUri(spec.uri())) {
    absl::StatusOr<std::unique_ptr<Files>> store =
        OpenObjectStore({spec.s3().endpoint(), spec.s3().region()});
    if (!store.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("checkpoint.uri: ", store.status().message()));
    }
    store_ = *std::move(store);
  }
  const Tokenizer* tokenizer = dataset_.tokenizer.get();
  auto store = std::make_unique<CheckpointStore>(
      store_ == nullptr ? files : *store_, clock, spec.uri(), config_.keep,
      RunIdentity{.job = configure.job(),
                  .job_uid = configure.job_uid(),
                  .data_checksum = TokensChecksum(dataset_.training),
                  .tokenizer_json = tokenizer == nullptr ? "" : tokenizer->json(),
                  .end_of_text = tokenizer == nullptr ? std::nullopt : tokenizer->end_of_text(),
                  .vocabulary = vocabulary_},
      outbox);
  MUSTER_RETURN_IF_ERROR(Claim(*store));
  checkpoints_ = std::move(store);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<TrainerProcess>> TrainerProcess::Create(
    const v1alpha1::TrainerConfigure& configure, const ProcessOptions& options, Files& files,
    const Clock& clock, Inbox& inbox, Outbox& outbox, EngineProgress& progress) {
  std::unique_ptr<TrainerProcess> process(new TrainerProcess(files, clock));
  process->spec_ = configure.spec();
  const v1alpha1::TrainingJobSpec& spec = process->spec_;
  process->ranks_starting_ = options.ranks_starting;
  process->available_ = AvailableMemory();
  const int local_rank = configure.local_rank();
  MUSTER_ASSIGN_OR_RETURN(process->device_, ChooseDevice(spec, local_rank, options.load_devices));
  MUSTER_ASSIGN_OR_RETURN(process->config_, process->ReadConfig(spec, local_rank));
  MUSTER_RETURN_IF_ERROR(process->OpenData(spec.trainer(), options, files));
  MUSTER_ASSIGN_OR_RETURN(Model model, process->BuildModel(spec, files));
  process->initial_ = process->MakeInitialWeights(files, model);
  MUSTER_ASSIGN_OR_RETURN(
      process->state_,
      TrainingState::Create(std::move(model), process->config_.training,
                            {.index = 0, .count = ShardsOf(spec)}, &process->state_files_,
                            local_rank % process->config_.training.parts));
  process->network_ = process->MakeNetwork(options.host);
  MUSTER_RETURN_IF_ERROR(process->OpenCheckpoints(configure, files, clock, outbox));
  if (!configure.copies_directory().empty()) {
    process->copies_ = std::make_unique<StateCopies>(
        files, clock, configure.copies_directory(),
        StateCopies::Job{configure.job(), configure.job_uid(), ChunksOf(process->state_->cut())});
    process->replicas_ = std::make_unique<KeptReplicas>(
        files, configure.job_uid(), configure.copies_directory(), ChunksOf(process->state_->cut()));
  }
  process->events_ = MakeEventLog(configure.job(), files, clock);
  process->Announce();
  process->WarnOfSlowPrecision(clock);
  process->trainer_ = std::make_unique<Trainer>(
      process->config_.settings, Trainer::Parts{.state = *process->state_,
                                                .feed = *process->feed_,
                                                .network = *process->network_,
                                                .checkpoints = process->checkpoints_.get(),
                                                .inbox = inbox,
                                                .outbox = outbox,
                                                .progress = progress,
                                                .timer = process->timer_,
                                                .clock = clock,
                                                .validation = process->ReadValidation(),
                                                .copies = process->copies_.get(),
                                                .replicas = process->replicas_.get(),
                                                .data = process->data_.get(),
                                                .initial = process->initial_.get(),
                                                .events = process->events_.get(),
                                                .read_spec = process->MakeSpecReader(),
                                                .fits = process->MakeFitCheck()});
  return process;
}

}  // namespace muster::trainer
