#include "trainer/engine/state/training_state.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/status_macros.h"
#include "c10/core/GradMode.h"
#include "trainer/commit/held_places.h"
#include "trainer/commit/loss_scale.h"
#include "trainer/commit/tunings.h"
#include "trainer/engine/link/torch_errors.h"
#include "trainer/parallel/chunk_view.h"
#include "trainer/parallel/flat_memory.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

absl::StatusOr<ParameterGroups> GroupsOf(const TrainingOptions& options, const Model& model) {
  MUSTER_ASSIGN_OR_RETURN(ParameterGroups groups, ParameterGroups::Make(options.optimizer.groups));
  std::vector<std::string> names;
  for (const auto& block : model.blocks) {
    for (const ParameterSpec& parameter : block->parameters()) names.push_back(parameter.name);
  }
  MUSTER_RETURN_IF_ERROR(groups.CheckAllFind(names));
  return groups;
}

// `blocks` are all of the model's.
std::vector<OptimizerTensor> OptimizerTensors(const UnitLayout& unit, ModelPart part, int blocks,
                                              const ParameterGroups& groups) {
  const bool is_of_ends = unit.users.front() == 0 || unit.users.back() == blocks - 1;
  std::vector<OptimizerTensor> out;
  for (const UnitTensor& tensor : unit.tensors) {
    out.push_back({.name = tensor.spec.name,
                   .shape = tensor.spec.shape,
                   .partition = tensor.spec.partition,
                   .part = unit.is_part ? part : ModelPart{},
                   .offset = tensor.offset,
                   .size = tensor.size,
                   .settings = groups.SettingsOf(tensor.spec.name, tensor.spec.decay),
                   .is_of_ends = is_of_ends});
  }
  return out;
}

std::vector<OptimizerUnit> OptimizerUnits(const std::vector<Unit>& units,
                                          const std::vector<HeldSlice>& slices, bool state_rests,
                                          ModelPart part, int blocks,
                                          const ParameterGroups& groups) {
  std::vector<OptimizerUnit> out;
  for (size_t u = 0; u < units.size(); ++u) {
    const HeldSlice& slice = slices[u];
    const int64_t decay = units[u].layout().decay_elements - slice.chunks.begin * kChunkElements;
    out.push_back({.values = slice.values,
                   .gradients = slice.gradients,
                   .decay_elements = std::clamp(decay, int64_t{0}, slice.values.numel()),
                   .state_rests = state_rests,
                   .tensors = OptimizerTensors(units[u].layout(), part, blocks, groups),
                   .begin = slice.chunks.begin * kChunkElements,
                   .elements = units[u].layout().elements});
  }
  return out;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingState>> TrainingState::Create(Model model,
                                                                     const TrainingOptions& options,
                                                                     const Shard& shard,
                                                                     StateFiles* files, int part,
                                                                     int stage) {
  if (options.optimizer.make == nullptr) {
    return absl::InvalidArgumentError("the options name no optimizer");
  }
  try {
    const ModelPart of_model = {part, options.parts};
    std::vector<int64_t> costs;
    for (const auto& block : model.blocks) costs.push_back(block->cost());
    MUSTER_ASSIGN_OR_RETURN(StageCut cut, StageCut::Make(costs, options.stages, options.chunks,
                                                         FormOf(options.pipeline_schedule)));
    MUSTER_ASSIGN_OR_RETURN(
        std::vector<Unit> units,
        MakeUnits(model, options.types.parameters, options.device, of_model, cut, stage));
    MUSTER_ASSIGN_OR_RETURN(ParameterGroups groups, GroupsOf(options, model));
    std::unique_ptr<TrainingState> state(new TrainingState(std::move(model), of_model,
                                                           std::move(cut), stage, std::move(units),
                                                           options, std::move(groups), files));
    MUSTER_ASSIGN_OR_RETURN(Holding holding, state->MakeHolding(shard, stage));
    state->Adopt(std::move(holding));
    state->commit_ = CommitMachine(state->optimizer_->has_prepare());
    return state;
  } catch (const std::exception& e) {  // torch has no memory
    return absl::ResourceExhaustedError(absl::StrCat("allocating the model: ", e.what()));
  }
}

TrainingState::TrainingState(Model model, ModelPart part, StageCut cut, int stage,
                             std::vector<Unit> units, const TrainingOptions& options,
                             ParameterGroups groups, StateFiles* files)
    : options_(options),
      sealed_under_(options),
      groups_(std::move(groups)),
      files_(files),
      model_(std::move(model)),
      part_(part),
      cut_(std::move(cut)),
      stage_(stage),
      units_(std::move(units)),
      commit_(false) {}

at::Tensor TrainingState::SliceOfFlat(int unit, const at::Tensor& flat) const {
  return ChunksOf(flat, units_[static_cast<size_t>(unit)].held().chunks);
}

Division TrainingState::DivisionOf(const Shard& shard) const {
  const bool several = !shard.whole();
  return {
      .values = options_.divided.values && (several || options_.offload.weights),
      .gradients = options_.divided.gradients && several && !options_.deterministic,
  };
}

bool TrainingState::divides_values() const {
  return std::any_of(units_.begin(), units_.end(),
                     [](const Unit& unit) { return unit.divides_values(); });
}

bool TrainingState::Holds(const Shard& shard, int stage) const {
  const Division division = DivisionOf(shard);
  // A rank that ran out of memory, or of room in files, in Divide() has no optimizer.
  return shard == shard_ && stage == stage_ && optimizer_ != nullptr &&
         offload_ == options_.offload &&
         std::all_of(units_.begin(), units_.end(), [&](const Unit& unit) {
           return division == Division{unit.divides_values(), unit.divides_gradients()};
         });
}

absl::StatusOr<std::vector<Unit>> TrainingState::UnitsOf(int stage) const {
  return MakeUnits(model_, options_.types.parameters, options_.device, part_, cut_, stage);
}

absl::StatusOr<Holding> TrainingState::MakeHolding(const Shard& shard, int stage) const {
  const OffloadOptions& offload = options_.offload;
  Holding holding{.stage = stage, .shard = shard, .offload = offload};
  if (stage != stage_) {
    MUSTER_ASSIGN_OR_RETURN(holding.units, UnitsOf(stage));
  }
  const std::vector<Unit>& units = holding.units ? *holding.units : units_;
  TensorsByUnit weights, optimizer;
  for (const Unit& unit : units) {
    const TreeNode chunks = SliceOf(unit.layout().chunks(), shard);
    holding.slices.push_back(unit.MakeSlice(chunks, DivisionOf(shard), offload.weights));
    weights.push_back({holding.slices.back().values});
  }
  holding.optimizer = options_.optimizer.make(
      options_.optimizer, OptimizerUnits(units, holding.slices, offload.optimizer, part_,
                                         static_cast<int>(model_.blocks.size()), groups_));
  for (size_t u = 0; u < units.size(); ++u) {
    optimizer.push_back(holding.optimizer->state(static_cast<int>(u)));
  }
  MUSTER_ASSIGN_OR_RETURN(holding.rests, StateRests::Create(offload, files_, weights, optimizer));
  return holding;
}

absl::Status TrainingState::Divide(const Shard& shard, int stage) {
  if (Holds(shard, stage)) return absl::OkStatus();
  Changes();
  // The held memory, and the room of what rests elsewhere, go before the other is taken.
  optimizer_.reset();
  rests_ = {};
  if (stage == stage_) {
    for (Unit& unit : units_) unit.Hold(unit.MakeSlice({}, DivisionOf(shard)));
  } else {
    MUSTER_ASSIGN_OR_RETURN(units_, UnitsOf(stage));
    stage_ = stage;
  }
  MUSTER_ASSIGN_OR_RETURN(Holding holding, MakeHolding(shard, stage));
  Adopt(std::move(holding));
  return absl::OkStatus();
}

void TrainingState::Adopt(Holding holding) {
  Changes();
  shard_ = holding.shard;
  stage_ = holding.stage;
  offload_ = std::move(holding.offload);
  optimizer_ = std::move(holding.optimizer);
  rests_ = std::move(holding.rests);
  if (holding.units) units_ = *std::move(holding.units);
  for (size_t u = 0; u < units_.size(); ++u) units_[u].Hold(std::move(holding.slices[u]));
  FreeKeptMemory();
  commit_.DropSealed();
}

absl::Status TrainingState::InitializeFresh() {
  Changes();
  for (size_t u = 0; u < units_.size(); ++u) {
    const int unit = static_cast<int>(u);
    rests_.MakeRoom(unit);
    units_[u].Initialize(options_.seed);
    for (at::Tensor& state : optimizer_->state(unit)) state.zero_();
    MUSTER_RETURN_IF_ERROR(rests_.Keep(unit));
  }
  rests_.Swap();
  counts_ = {.loss_scale = FirstLossScale(options_.types.scales_loss())};
  return absl::OkStatus();
}

absl::Status TrainingState::Configure(const TrainingOptions& options) {
  const auto refuse = [](const char* field) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " cannot change while ranks hold the state of a run: put it back"));
  };
  if (options.sequence != options_.sequence) return refuse("train.sequence");
  if (options.micro_batch != options_.micro_batch) return refuse("train.microBatch");
  if (options.seed != options_.seed) return refuse("train.seed");
  if (options.deterministic != options_.deterministic) return refuse("train.deterministic");
  if (options.types != options_.types) return refuse("train.precision");
  if (options.parts != options_.parts) return refuse("trainer.parallelism.tensor");
  if (options.stages != options_.stages) return refuse("trainer.parallelism.pipeline");
  if (options.chunks != options_.chunks) return refuse("trainer.parallelism.chunks");
  if (FormOf(options.pipeline_schedule) != FormOf(options_.pipeline_schedule)) {
    return refuse("trainer.parallelism.schedule");
  }
  if (options.optimizer.make != options_.optimizer.make) return refuse("optimizer.name");
  if (options.optimizer.groups != options_.optimizer.groups) return refuse("optimizer.groups");
  if ((options.optimizer.momentum != 0.0) != (options_.optimizer.momentum != 0.0)) {
    return refuse("whether optimizer.momentum is zero");
  }
  options_ = options;
  return absl::OkStatus();
}

absl::Status TrainingState::Seal() {
  MUSTER_RETURN_IF_ERROR(commit_.Seal());
  sealed_under_ = options_;
  return absl::OkStatus();
}

absl::Status TrainingState::Apply() {
  MUSTER_RETURN_IF_ERROR(commit_.BeginApply());
  const v1alpha1::StepDecision& decision = commit_.decisions().front();
  Changes();
  bool torn = false;
  const absl::Status written = CatchTorch(absl::StrCat("applying step ", decision.version().step()),
                                          [&] { return WriteUpdate(decision, torn); });
  if (!written.ok()) return EndFailedApply(written, torn);
  rests_.ForgetRefusals();
  counts_.samples += sealed_under_.step_samples();
  PastSteps past = PastStepsAfter(decision, {.watch = sealed_under_.watch}, counts_.past());
  counts_.skipped = past.skipped;
  counts_.loss_scale = past.loss_scale;
  counts_.watched = std::move(past.watched);
  if (decision.has_tuning()) counts_.tunings.push_back(FromProto(decision.tuning()));
  return commit_.EndApply();
}

absl::Status TrainingState::EndFailedApply(const absl::Status& why, bool torn) {
  rests_.Discard();
  if (!torn) {
    MUSTER_RETURN_IF_ERROR(commit_.AbandonApply());
    return why;
  }
  commit_.Lose();
  if (!absl::IsUnavailable(why)) return why;
  return absl::DataLossError(absl::StrCat(
      why.message(), "; this rank's weights were being overwritten in memory and are lost"));
}

StepRules TrainingState::rules() const {
  const TunedValues values = ValuesOf({options_.schedule.peak, options_.clip_norm}, counts_.tunings,
                                      commit_.next().step());
  return {.nominal_tokens = options_.nominal_tokens(),
          .scales_loss = options_.types.scales_loss(),
          .clip_norm = values.clip_norm,
          .max_skipped_in_row = options_.max_skipped_in_row,
          .max_skipped_total = options_.max_skipped_total,
          .watch = options_.watch};
}

double TrainingState::RateOf(const TrainingOptions& options, int64_t step) const {
  Schedule schedule = options.schedule;
  schedule.peak = ValuesOf({schedule.peak, options.clip_norm}, counts_.tunings, step).learning_rate;
  return counts_.watched.rate_factor * schedule.At(step);
}

UpdateOptions TrainingState::UpdateOf(const v1alpha1::StepDecision& decision) const {
  const TrainingOptions& options = sealed_under_;
  const double to_mean =
      static_cast<double>(options.nominal_tokens()) / static_cast<double>(decision.valid_tokens());
  return {.update = counts_.updates + 1,
          .learning_rate = RateOf(options, decision.version().step()),
          // Powers of two change no digit of the factor, so the gradients are those of the loss.
          .gradient_factor =
              decision.clip_factor() * to_mean / static_cast<double>(counts_.loss_scale.scale)};
}

absl::StatusOr<bool> TrainingState::PrepareUpdate(const RoundGroups& groups) {
  const v1alpha1::StepDecision& decision = commit_.voted();
  if (!decision.apply()) return true;
  const c10::AutoGradMode no_graph(false);
  optimizer_->Configure(sealed_under_.optimizer);
  OptimizerContext context{.world = groups.world,
                           .shard = groups.shard,
                           .tensor = groups.axes.tensor,
                           .bring = [this](int unit) { return rests_.Bring(unit); },
                           .drop = [this](int unit) { rests_.Drop(unit); }};
  for (const Unit& unit : units_) {
    const bool is_here = !unit.layout().own_users.empty();
    context.replicas.push_back(is_here ? &ReplicasOf(groups, unit.layout()) : nullptr);
  }
  absl::StatusOr<bool> finite = true;
  MUSTER_RETURN_IF_ERROR(CatchTorch("preparing the update", [&] {
    finite = optimizer_->Prepare(UpdateOf(decision), context);
    return finite.status();
  }));
  return finite;
}

absl::Status TrainingState::WriteUpdate(const v1alpha1::StepDecision& decision, bool& torn) {
  if (!decision.apply()) return absl::OkStatus();
  const c10::AutoGradMode no_graph(false);
  const UpdateOptions update = UpdateOf(decision);
  optimizer_->Configure(sealed_under_.optimizer);
  const bool in_place =
      !rests_.weights->has_generations() ||
      (!rests_.optimizer->has_generations() && !optimizer_->state_names().empty());
  for (size_t u = 0; u < units_.size(); ++u) {
    const int unit = static_cast<int>(u);
    MUSTER_RETURN_IF_ERROR(rests_.Bring(unit));
    torn = in_place;
    optimizer_->Apply(unit, update);
    MUSTER_RETURN_IF_ERROR(rests_.Keep(unit));
    if (u == 0) MUSTER_FAILPOINT("trainer.mid_apply");
  }
  rests_.Swap();
  counts_.updates = update.update;
  return absl::OkStatus();
}

v1alpha1::RankPosition TrainingState::Position() const {
  v1alpha1::RankPosition position = commit_.Position();
  if (!place().whole()) *position.mutable_slice() = ToSlice(place());
  return position;
}

}  // namespace muster::trainer
