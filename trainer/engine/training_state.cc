#include "trainer/engine/training_state.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "c10/core/GradMode.h"
#include "trainer/engine/torch_errors.h"
#include "trainer/kernels/kernels.h"
#include "trainer/parallel/chunk_view.h"
#include "trainer/parallel/flat_memory.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

std::vector<OptimizerUnit> OptimizerUnits(const std::vector<Unit>& units,
                                          const std::vector<HeldSlice>& slices) {
  std::vector<OptimizerUnit> out;
  for (size_t u = 0; u < units.size(); ++u) {
    const HeldSlice& slice = slices[u];
    const int64_t decay = units[u].layout().decay_elements - slice.chunks.begin * kChunkElements;
    out.push_back(
        {slice.values, slice.gradients, std::clamp(decay, int64_t{0}, slice.values.numel())});
  }
  return out;
}

// Returns the part of a tensor of the unit's that lies in `slice`; `flat` has the slice's elements.
TensorPart PartOf(const UnitTensor& tensor, const TreeNode& slice, const at::Tensor& flat,
                  std::string name) {
  const int64_t first = slice.begin * kChunkElements, last = slice.end * kChunkElements;
  const int64_t begin = std::clamp(tensor.offset, first, last);
  const int64_t end = std::clamp(tensor.offset + tensor.size, first, last);
  return {std::move(name), tensor.spec.shape, begin < end ? begin - tensor.offset : 0,
          flat.narrow(0, begin - first, end - begin)};
}

}  // namespace

StepRules RulesOf(const TrainingOptions& options) {
  return {.nominal_tokens = options.nominal_tokens(),
          .clip_norm = options.clip_norm,
          .max_skipped_in_row = options.max_skipped_in_row,
          .max_skipped_total = options.max_skipped_total};
}

absl::StatusOr<std::unique_ptr<TrainingState>> TrainingState::Create(Model model,
                                                                     const TrainingOptions& options,
                                                                     const Shard& shard) {
  if (options.optimizer.make == nullptr) {
    return absl::InvalidArgumentError("the options name no optimizer");
  }
  try {
    MUSTER_ASSIGN_OR_RETURN(std::vector<Unit> units,
                            MakeUnits(model, options.types.parameters, options.device));
    return std::unique_ptr<TrainingState>(
        new TrainingState(std::move(model), std::move(units), options, shard));
  } catch (const std::exception& e) {  // torch has no memory
    return absl::ResourceExhaustedError(absl::StrCat("allocating the model: ", e.what()));
  }
}

TrainingState::TrainingState(Model model, std::vector<Unit> units, const TrainingOptions& options,
                             const Shard& shard)
    : options_(options),
      sealed_under_(options),
      model_(std::move(model)),
      units_(std::move(units)),
      commit_(false) {
  Adopt(MakeHolding(shard));
  commit_ = CommitMachine(optimizer_->has_prepare());
}

at::Tensor TrainingState::SliceOfFlat(int unit, const at::Tensor& flat) const {
  return ChunksOf(flat, units_[static_cast<size_t>(unit)].held().chunks);
}

Division TrainingState::DivisionOf(const Shard& shard) const {
  if (shard.whole()) return {};
  return {.values = options_.divided.values,
          .gradients = options_.divided.gradients && !options_.deterministic};
}

bool TrainingState::divides_values() const {
  return std::any_of(units_.begin(), units_.end(),
                     [](const Unit& unit) { return unit.divides_values(); });
}

bool TrainingState::Holds(const Shard& shard) const {
  const Division division = DivisionOf(shard);
  // A rank that ran out of memory in Divide() has no optimizer.
  return shard == shard_ && optimizer_ != nullptr &&
         std::all_of(units_.begin(), units_.end(), [&](const Unit& unit) {
           return division == Division{unit.divides_values(), unit.divides_gradients()};
         });
}

Holding TrainingState::MakeHolding(const Shard& shard) const {
  Holding holding{.shard = shard};
  for (const Unit& unit : units_) {
    const TreeNode chunks = SliceOf(unit.layout().chunks(), shard);
    holding.slices.push_back(unit.MakeSlice(chunks, DivisionOf(shard)));
  }
  holding.optimizer =
      options_.optimizer.make(options_.optimizer, OptimizerUnits(units_, holding.slices));
  return holding;
}

void TrainingState::Divide(const Shard& shard) {
  if (Holds(shard)) return;
  // The held memory goes before the other is taken.
  optimizer_.reset();
  for (Unit& unit : units_) unit.Hold(unit.MakeSlice({}, DivisionOf(shard)));
  Adopt(MakeHolding(shard));
}

void TrainingState::Adopt(Holding holding) {
  shard_ = holding.shard;
  optimizer_ = std::move(holding.optimizer);
  for (size_t u = 0; u < units_.size(); ++u) units_[u].Hold(std::move(holding.slices[u]));
  FreeKeptMemory();
  commit_.DropSealed();
}

void TrainingState::InitializeFresh() {
  for (size_t u = 0; u < units_.size(); ++u) {
    units_[u].Initialize(options_.seed);
    for (at::Tensor& state : optimizer_->state(static_cast<int>(u))) state.zero_();
  }
  counts_ = {};
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
  if (options.types.parameters != options_.types.parameters ||
      options.types.compute != options_.types.compute) {
    return refuse("train.precision");
  }
  if (options.optimizer.make != options_.optimizer.make) return refuse("optimizer.name");
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
  const absl::Status written = CatchTorch(absl::StrCat("applying step ", decision.version().step()),
                                          [&] { return WriteUpdate(decision); });
  if (!written.ok()) {
    commit_.Lose();
    return written;
  }
  counts_.samples += sealed_under_.step_samples();
  counts_.skipped = SkippedStepsAfter(decision);
  return commit_.EndApply();
}

UpdateOptions TrainingState::UpdateOf(const v1alpha1::StepDecision& decision) const {
  const TrainingOptions& options = sealed_under_;
  const double to_mean =
      static_cast<double>(options.nominal_tokens()) / static_cast<double>(decision.valid_tokens());
  return {.update = counts_.updates + 1,
          .learning_rate = options.schedule.At(decision.version().step()),
          .gradient_factor = decision.clip_factor() * to_mean};
}

absl::StatusOr<bool> TrainingState::PrepareUpdate(Communicator& world) {
  const v1alpha1::StepDecision& decision = commit_.voted();
  if (!decision.apply()) return true;
  const c10::AutoGradMode no_graph(false);
  optimizer_->Configure(sealed_under_.optimizer);
  return optimizer_->Prepare(UpdateOf(decision), world);
}

absl::Status TrainingState::WriteUpdate(const v1alpha1::StepDecision& decision) {
  if (!decision.apply()) return absl::OkStatus();
  const c10::AutoGradMode no_graph(false);
  const UpdateOptions update = UpdateOf(decision);
  if (update.gradient_factor != 1.0) {
    for (const Unit& unit : units_) unit.held().gradients.mul_(update.gradient_factor);
  }
  optimizer_->Configure(sealed_under_.optimizer);
  optimizer_->Apply(update.update, update.learning_rate);
  counts_.updates = update.update;
  return absl::OkStatus();
}

v1alpha1::RankPosition TrainingState::Position() const {
  v1alpha1::RankPosition position = commit_.Position();
  if (shard_.whole()) return position;
  position.mutable_slice()->set_shard(shard_.index);
  position.mutable_slice()->set_shards(shard_.count);
  return position;
}

std::vector<NamedTensor> TrainingState::FlatTensors() const {
  std::vector<NamedTensor> out;
  for (size_t u = 0; u < units_.size(); ++u) {
    const std::string& name = units_[u].layout().name;
    out.push_back({name, units_[u].held().values});
    const std::vector<at::Tensor> state = optimizer_->state(static_cast<int>(u));
    for (size_t i = 0; i < state.size(); ++i) {
      out.push_back({absl::StrCat(name, ".", optimizer_->state_names()[i]), state[i]});
    }
  }
  return out;
}

std::vector<NamedTensor> TrainingState::Parameters() const {
  std::vector<NamedTensor> out;
  for (const Unit& unit : units_) {
    for (size_t i = 0; i < unit.parameters().size(); ++i) {
      out.push_back({unit.layout().tensors[i].spec.name, unit.parameters()[i].detach()});
    }
  }
  return out;
}

std::vector<NamedTensor> TrainingState::Gradients() const {
  std::vector<NamedTensor> out;
  for (const Unit& unit : units_) {
    for (size_t i = 0; i < unit.parameters().size(); ++i) {
      out.push_back({unit.layout().tensors[i].spec.name, unit.parameters()[i].grad()});
    }
  }
  return out;
}

std::vector<TensorPart> TrainingState::ValueParts() const {
  std::vector<TensorPart> out;
  for (const Unit& unit : units_) {
    const bool divided = unit.divides_values();
    const TreeNode run = divided ? unit.held().chunks : TreeNode{0, unit.layout().chunks()};
    const at::Tensor& values = divided ? unit.held().values : unit.values();
    for (const UnitTensor& tensor : unit.layout().tensors) {
      out.push_back(PartOf(tensor, run, values, tensor.spec.name));
    }
  }
  return out;
}

std::vector<TensorPart> TrainingState::OptimizerParts() const {
  std::vector<TensorPart> out;
  for (size_t u = 0; u < units_.size(); ++u) {
    const std::vector<at::Tensor> state = optimizer_->state(static_cast<int>(u));
    for (const UnitTensor& tensor : units_[u].layout().tensors) {
      for (size_t i = 0; i < state.size(); ++i) {
        out.push_back(PartOf(tensor, units_[u].held().chunks, state[i],
                             absl::StrCat(tensor.spec.name, ".", optimizer_->state_names()[i])));
      }
    }
  }
  return out;
}

std::vector<int64_t> TrainingState::Digest() const {
  std::vector<int64_t> out;
  for (const Unit& unit : units_) {
    const at::Tensor& values = unit.divides_values() ? unit.held().values : unit.values();
    out.push_back(static_cast<int64_t>(KernelsOf(values).Digest(values, 0)));
  }
  for (size_t u = 0; u < units_.size(); ++u) {
    uint64_t hash = 0;
    for (const at::Tensor& state : optimizer_->state(static_cast<int>(u))) {
      hash = KernelsOf(state).Digest(state, hash);
    }
    out.push_back(static_cast<int64_t>(hash));
  }
  const bool usable = applied().has_value();
  const int64_t position[] = {usable ? applied()->step() : -1,
                              usable ? applied()->attempt() : -1,
                              counts_.updates,
                              counts_.samples,
                              counts_.skipped.in_row,
                              counts_.skipped.total};
  out.push_back(
      static_cast<int64_t>(Hash64({reinterpret_cast<const char*>(position), sizeof(position)})));
  return out;
}

}  // namespace muster::trainer
