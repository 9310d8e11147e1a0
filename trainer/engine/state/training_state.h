#ifndef MUSTER_TRAINER_ENGINE_STATE_TRAINING_STATE_H_
#define MUSTER_TRAINER_ENGINE_STATE_TRAINING_STATE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "c10/core/Device.h"
#include "planner/activations.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/commit/commit_machine.h"
#include "trainer/commit/decide_step.h"
#include "trainer/commit/spike_watch.h"
#include "trainer/engine/link/round_groups.h"
#include "trainer/engine/link/sent_numbers.h"
#include "trainer/engine/state/run_counts.h"
#include "trainer/model/block.h"
#include "trainer/model/partition.h"
#include "trainer/model/sequence_order.h"
#include "trainer/offload/state_file.h"
#include "trainer/offload/state_rests.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/parameter_groups.h"
#include "trainer/optim/schedule.h"
#include "trainer/parallel/slices.h"
#include "trainer/parallel/stages.h"
#include "trainer/parallel/unit.h"
#include "trainer/precision/precision.h"

namespace muster::trainer {

// The options that determine a run's numbers; equal on every rank.
struct TrainingOptions {
  PrecisionTypes types;
  // Where the state is and the steps are computed.
  c10::Device device = c10::DeviceType::CPU;
  bool deterministic = false;
  uint64_t seed = 0;
  int64_t sequence = 0;       // tokens
  int64_t micro_batch = 0;    // sequences
  int64_t micro_batches = 0;  // logical micro-batches of a step, over all ranks
  double clip_norm = 1.0;     // 0: never
  int64_t max_skipped_in_row = INT64_MAX;
  int64_t max_skipped_total = INT64_MAX;
  // The parts of the state that are divided besides the optimizer's. Gradients stay whole in
  // deterministic mode all the same.
  Division divided;
  // The number of ranks that divide the model along the tensor axis.
  int parts = 1;
  // The number of stages of a pipeline, and of the runs of blocks that each of them has.
  int stages = 1;
  int chunks = 1;
  PipelineSchedule pipeline_schedule = PipelineSchedule::kOneForwardOneBackward;
  // How attention crosses the ranks that divide a sequence. Their number is the round's.
  ContextExchange context_exchange = ContextExchange::kHeads;
  // How much a forward pass keeps for the backward pass.
  planner::ActivationOptions activations;
  // The held state that is offloaded between uses. Weights can be offloaded only with
  // divided.values, which then counts for a single shard, too.
  OffloadOptions offload;
  OptimizerOptions optimizer;
  Schedule schedule;
  WatchRules watch;
  CommunicationOptions communication;
  // A hash of the spec that all of this was read from. The ranks of one round must agree on it.
  uint64_t trajectory = 0;

  int64_t step_samples() const { return micro_batch * micro_batches; }
  int64_t nominal_tokens() const { return sequence * step_samples(); }
};

// One tensor of the state with its name, a view of the state's memory.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// A rank's slices of all units, and the optimizer that works on them.
struct Holding {
  int stage = 0;
  Shard shard;
  OffloadOptions offload;
  // The units of the stage, to which its blocks are bound; only if it is another than the state's.
  std::optional<std::vector<Unit>> units;
  std::vector<HeldSlice> slices;  // by unit
  std::unique_ptr<Optimizer> optimizer;
  StateRests rests;
};

// A flat part of a tensor of the state: the elements from `begin` on of what this rank's part of
// the model has of a tensor of this shape.
struct TensorPart {
  std::string name;
  std::vector<int64_t> shape;
  Partition partition;
  ModelPart part;
  int64_t begin = 0;
  at::Tensor elements;  // flat, a view of the state's memory; may be empty, or rest elsewhere
  bool of_optimizer = false;
  // The first stage of the pipeline has the tensor, too, and this rank is of the last.
  bool of_first_stage = false;

  // Returns true if other ranks have other elements of the tensor because of their model's part.
  bool is_part() const { return IsDivided(partition, part); }
};

// The model, its units and the optimizer, with the commit protocol's record of the version that
// they hold: the part of a trainer that outlives rounds.
//
// A rank holds a shard of the state: of every unit, the values and optimizer state of one slice.
// Values and gradients that are not divided have memory for the whole unit: outside of the slice,
// the values are those that the ranks gathered last, and the reduced gradients are undefined.
// Offloaded state (trainer/offload) has memory only while it is in use. Not thread-safe.
class TrainingState {
 public:
  // Makes a state that holds no version yet, of the model's part `part` of options.parts and the
  // stage `stage` of options.stages, with memory for `shard`, and room in `files` for offloaded
  // state. `files` must outlive this; if it is null, nothing can be offloaded to files.
  // ResourceExhausted if there is not enough memory or room.
  static absl::StatusOr<std::unique_ptr<TrainingState>> Create(Model model,
                                                               const TrainingOptions& options,
                                                               const Shard& shard = {},
                                                               StateFiles* files = nullptr,
                                                               int part = 0, int stage = 0);

  const TrainingOptions& options() const { return options_; }
  // Sets the options of the next steps. Returns InvalidArgument, naming the field, if this process
  // cannot change it. Gradients that are already sealed are still applied by the options that made
  // them.
  absl::Status Configure(const TrainingOptions& options);
  const Model& model() const { return model_; }
  std::vector<Unit>& units() { return units_; }
  const std::vector<Unit>& units() const { return units_; }
  const Optimizer& optimizer() const { return *optimizer_; }
  // Returns the storage of this rank's slices, and of their optimizer state, between uses.
  const StateRests& rests() const { return rests_; }

  // Returns the part of the model whose parameters the units are.
  ModelPart part() const { return part_; }
  // Returns the stages of the model's blocks, and the one that this rank has.
  const StageCut& cut() const { return cut_; }
  int stage() const { return stage_; }
  const Shard& shard() const { return shard_; }
  // Returns the place of this rank among those that together hold one copy of the state.
  CopyPlace place() const { return {part_, shard_, {stage_, cut_.stages()}}; }
  // Returns the slice's part of `flat`, which has the unit's elements.
  at::Tensor SliceOfFlat(int unit, const at::Tensor& flat) const;
  // Returns true if ranks of several shards hold only slices of the values.
  bool divides_values() const;
  // Returns true if this rank holds `shard` of that stage, divided as the options say.
  bool Holds(const Shard& shard, int stage) const;
  bool Holds(const Shard& shard) const { return Holds(shard, stage_); }
  // Makes this rank hold `shard` of that stage, divided as the options say. Does nothing if it
  // Holds() that already; else its optimizer state is zero, and what it held before is lost. After
  // an error, such as no room for offloaded state, it holds nothing.
  absl::Status Divide(const Shard& shard, int stage);
  absl::Status Divide(const Shard& shard) { return Divide(shard, stage_); }
  // Allocates memory for `shard` of that stage, divided as the options say, and room for what is
  // offloaded of it, beside what this rank holds. Its optimizer state is zero, its values are
  // undefined.
  absl::StatusOr<Holding> MakeHolding(const Shard& shard, int stage) const;
  // Makes this rank hold `holding`, which must be complete. Drops sealed gradients, because they
  // belong to the old slices.
  void Adopt(Holding holding);

  // Sets a callback that runs in this state's thread before this class overwrites or frees the
  // state's memory, so that a save can copy that memory in the background until then; null: no
  // callback. Writes from outside of this class are not announced.
  void OnChange(std::function<void()> before) { before_change_ = std::move(before); }
  bool announces_changes() const { return before_change_ != nullptr; }

  // The commit protocol's record. Every write to the state's memory is announced to it first.
  CommitMachine& commit() { return commit_; }
  const CommitMachine& commit() const { return commit_; }
  const std::optional<v1alpha1::Version>& applied() const { return commit_.applied(); }

  const RunCounts& counts() const { return counts_; }
  // Returns what the vote's outcome on the next step depends on.
  StepRules rules() const;
  // Returns the learning rate of that step: the next one, or one that was applied.
  double LearningRateOf(int64_t step) const { return RateOf(options_, step); }
  void set_counts(const RunCounts& counts) { counts_ = counts; }

  // Sets initial weights from the seed, and zero optimizer state. If state is offloaded to files,
  // this and the calls below also return the disk's errors.
  absl::Status InitializeFresh();
  // Call when the gradients in the units are complete and reduced.
  absl::Status Seal();
  // Prepares the update that was voted, commit().voted(), if the optimizer has such a phase. Called
  // by all ranks of the round. Returns false if this rank's part of the update is not finite.
  absl::StatusOr<bool> PrepareUpdate(const RoundGroups& groups);
  // Carries out the decision that commit() holds, from the gradients in the units, without
  // communication. If LibTorch or a disk fails, the previous version stays, without sealed
  // gradients, unless some of the state was already overwritten in place: then the weights are
  // lost, and the error is never Unavailable.
  absl::Status Apply();

  // Returns this rank's position, without its checkpoints.
  v1alpha1::RankPosition Position() const;

  // Returns the flat tensors that make up this shard's version: values and optimizer state of every
  // unit's slice. Offloaded tensors have no memory.
  std::vector<NamedTensor> FlatTensors() const;
  // Return the tensors named as in Hugging Face, as views of the units' whole memory.
  std::vector<NamedTensor> Parameters() const;
  std::vector<NamedTensor> Gradients() const;
  // Returns the parts of the parameters that this rank holds: its slices of divided values, and the
  // whole of others. With `slices_only`, returns its slices alone, because only they are sure to be
  // of the applied version if the ranks have not gathered it.
  std::vector<TensorPart> ValueParts(bool slices_only = false) const;
  // Returns the parts of the optimizer state that this shard holds. Its tensors are named
  // <parameter>.<state> and have the parameter's shape.
  std::vector<TensorPart> OptimizerParts() const;
  // Copies the elements of a part into `into`, which has as many bytes.
  absl::Status ReadPart(const TensorPart& part, std::span<std::byte> into) const;
  // Replaces the elements of a part by what `fill` writes into a tensor on the host. Offloaded
  // parts of a unit must all be filled; EndFill() puts them into effect together.
  absl::Status FillPart(const TensorPart& part,
                        absl::FunctionRef<absl::Status(at::Tensor elements)> fill);
  void EndFill() { rests_.Swap(); }

  // Returns one number per unit for its values (of the slice, if they are divided), one per unit
  // for the optimizer state of its slice, and one for version and counts: equal on ranks with equal
  // state, once values that are not divided are gathered.
  absl::StatusOr<std::vector<int64_t>> Digest() const;

 private:
  TrainingState(Model model, ModelPart part, StageCut cut, int stage, std::vector<Unit> units,
                const TrainingOptions& options, ParameterGroups groups, StateFiles* files);
  void Changes() const {
    if (before_change_) before_change_();
  }
  Division DivisionOf(const Shard& shard) const;
  // Makes the units of a stage, to which its blocks are bound then.
  absl::StatusOr<std::vector<Unit>> UnitsOf(int stage) const;
  absl::Status WriteUpdate(const v1alpha1::StepDecision& decision, bool& torn);
  absl::Status EndFailedApply(const absl::Status& why, bool torn);
  StateRest& RestOf(const TensorPart& part) const;
  double RateOf(const TrainingOptions& options, int64_t step) const;
  UpdateOptions UpdateOf(const v1alpha1::StepDecision& decision) const;

  TrainingOptions options_;
  TrainingOptions sealed_under_;
  const ParameterGroups groups_;
  StateFiles* const files_;
  Model model_;
  const ModelPart part_;
  const StageCut cut_;
  int stage_;
  std::vector<Unit> units_;
  Shard shard_;
  OffloadOptions offload_;  // of what this rank holds
  std::unique_ptr<Optimizer> optimizer_;
  StateRests rests_;
  CommitMachine commit_;
  RunCounts counts_;
  std::function<void()> before_change_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STATE_TRAINING_STATE_H_
