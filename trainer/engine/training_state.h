#ifndef MUSTER_TRAINER_ENGINE_TRAINING_STATE_H_
#define MUSTER_TRAINER_ENGINE_TRAINING_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/commit/commit_machine.h"
#include "trainer/commit/decide_step.h"
#include "trainer/model/block.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/schedule.h"
#include "trainer/parallel/unit.h"
#include "trainer/precision/precision.h"

namespace muster::trainer {

// The options that determine a run's numbers; equal on every rank.
struct TrainingOptions {
  PrecisionTypes types;
  bool deterministic = false;
  uint64_t seed = 0;
  int64_t sequence = 0;       // tokens
  int64_t micro_batch = 0;    // sequences
  int64_t micro_batches = 0;  // logical micro-batches of a step, over all ranks
  double clip_norm = 1.0;     // 0: never
  int64_t max_skipped_in_row = INT64_MAX;
  int64_t max_skipped_total = INT64_MAX;
  OptimizerOptions optimizer;
  Schedule schedule;
  // A hash of the spec that all of this was read from. The ranks of one round must agree on it.
  uint64_t trajectory = 0;

  int64_t step_samples() const { return micro_batch * micro_batches; }
  int64_t nominal_tokens() const { return sequence * step_samples(); }
};

// Returns the options that the vote's outcome depends on.
StepRules RulesOf(const TrainingOptions& options);

// A run's progress besides its version; part of the state.
struct RunCounts {
  int64_t updates = 0;  // applied; skipped steps do not count
  int64_t samples = 0;  // consumed: where in the data the next step begins
  SkippedSteps skipped;
  bool operator==(const RunCounts&) const = default;
};

// One tensor of the state with its name, a view of the state's memory.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// The model, its units and the optimizer, with the commit protocol's record of the version that
// they hold: the part of a trainer that outlives rounds. Not thread-safe.
class TrainingState {
 public:
  static absl::StatusOr<std::unique_ptr<TrainingState>> Create(Model model,
                                                               const TrainingOptions& options);

  const TrainingOptions& options() const { return options_; }
  // Sets the options of the next steps. Returns InvalidArgument, naming the field, if this process
  // cannot change it. Gradients that are already sealed are still applied by the options that made
  // them.
  absl::Status Configure(const TrainingOptions& options);
  const Model& model() const { return model_; }
  std::vector<Unit>& units() { return units_; }
  const Optimizer& optimizer() const { return *optimizer_; }

  // Every write to the memory below is announced here first.
  CommitMachine& commit() { return commit_; }
  const CommitMachine& commit() const { return commit_; }
  const std::optional<v1alpha1::Version>& applied() const { return commit_.applied(); }

  const RunCounts& counts() const { return counts_; }
  void set_counts(const RunCounts& counts) { counts_ = counts; }

  // Sets initial weights from the seed, and zero optimizer state.
  void InitializeFresh();
  // Call when the gradients in the units are complete and reduced.
  absl::Status Seal();
  // Carries out the decision that commit() holds, from the gradients in the units, without
  // communication. If LibTorch fails between the first and the last write, the weights are lost.
  absl::Status Apply();

  // Returns the flat memory that makes up the version: values and optimizer state of every unit.
  std::vector<NamedTensor> FlatTensors() const;
  // Named as in Hugging Face; optimizer state is named <parameter>.<state>.
  std::vector<NamedTensor> Parameters() const;
  std::vector<NamedTensor> Gradients() const;
  std::vector<NamedTensor> OptimizerTensors() const;

  // Returns one number per unit, then one for version and counts: equal on ranks with equal state.
  std::vector<int64_t> Digest() const;

 private:
  TrainingState(Model model, std::vector<Unit> units, const TrainingOptions& options);
  absl::Status WriteUpdate(const v1alpha1::StepDecision& decision);

  TrainingOptions options_;
  TrainingOptions sealed_under_;
  Model model_;
  std::vector<Unit> units_;
  std::unique_ptr<Optimizer> optimizer_;
  CommitMachine commit_;
  RunCounts counts_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TRAINING_STATE_H_
