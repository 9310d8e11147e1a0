#ifndef MUSTER_TRAINER_ENGINE_STEP_ENGINE_H_
#define MUSTER_TRAINER_ENGINE_STEP_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "c10/util/intrusive_ptr.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/comm/communicator.h"
#include "trainer/commit/step_messages.h"
#include "trainer/commit/tunings.h"
#include "trainer/data/batch_feed.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/link/round_groups.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/block_runner.h"
#include "trainer/engine/step/gradient_reducer.h"
#include "trainer/engine/step/stage_link.h"
#include "trainer/engine/step/unit_values.h"
#include "trainer/engine/table/task_table.h"
#include "trainer/model/weight_casts.h"
#include "trainer/parallel/sum_tree.h"

namespace muster::trainer {

// Requests of a rank. They ride on the vote, and all act on them after the same step: on that of
// any rank, unless it says otherwise.
struct StepRequests {
  bool save = false;
  bool stop = false;
  bool save_due = false;  // the interval by time is over
  // The tuning of the job that may come into force after the step.
  std::optional<Tuning> tuning;
  // Asked at the vote: whether this rank still writes an earlier checkpoint. Null: it does not.
  std::function<bool()> is_writing;
  // Asked at the vote: whether this rank asks to copy the state after the step, which takes all
  // ranks. Null: it does not.
  std::function<bool()> asks_for_copy;
};

struct StepOutcome {
  v1alpha1::StepDecision decision;
  double learning_rate = 0.0;
  BusyTimes busy;
  // The memory of the fullest device, with the retries of all ranks; absent on CPUs.
  std::optional<v1alpha1::DeviceMemory> device_memory;
  bool copy = false;      // all ranks asked to copy the state after this step
  bool save_due = false;  // the interval by time was over on some rank
  bool writing = false;   // some rank still wrote an earlier checkpoint
  // The step is applied. If this is an error, the round broke after that, and the units' values as
  // a whole mean nothing until a round gathers them again.
  absl::Status after;
};

// Executes a task table over blocks and units: one training step at a time, among the ranks of one
// round. After an error the TrainingState still describes exactly what its memory holds: the
// version applied before, perhaps with sealed gradients or an unapplied decision. Runs on one
// thread; `interrupt` may be set by any other and ends a step between two tasks with Aborted.
//
//   engine.BeginRound(*communicator);
//   while (...) { MUSTER_ASSIGN_OR_RETURN(StepOutcome outcome, engine.Step({})); ... }
class Engine {
 public:
  // All of these must outlive this.
  Engine(TrainingState& state, BatchFeed& feed, PhaseTimer& timer,
         const std::atomic<bool>& interrupt);

  // Takes this rank's share of the micro-batches and checks the table that it is about to run. The
  // state's commit protocol must be ready for a step, and the state hold this rank's shard.
  absl::Status BeginRound(const RoundGroups& groups);
  absl::Status BeginRound(Communicator& world) { return BeginRound({.world = &world}); }
  // Does the same without an operator, for benchmarks and tests; the memory holds version 0.
  absl::Status BeginAlone(const RoundGroups& groups);
  absl::Status BeginAlone(Communicator& world) { return BeginAlone({.world = &world}); }
  void EndRound();

  // Returns an error only if this rank has not applied the step.
  absl::StatusOr<StepOutcome> Step(const StepRequests& requests);

  // Returns the mean loss over `batches` validation micro-batches, which the ranks share among
  // themselves.
  absl::StatusOr<double> Validate(int batches);

  // Runs forward, backward and reduction of the next step, without a vote: the whole gradients of
  // the summed loss divided by nominal tokens stay in the units. For parity tests.
  absl::Status ComputeGradients();
  // Returns this rank's loss in the last step computed, summed over valid tokens.
  double loss_sum() const;

 private:
  absl::Status RunTable(const StepRequests& requests, StepOutcome& outcome);
  absl::Status RunTask(const Task& task, const StepRequests& requests, StepOutcome& outcome);
  absl::Status LoadStep(int64_t step);
  // Returns the factor of the loss whose gradients the next step computes.
  double LossScaleOfStep() const;
  absl::Status Forward(const Task& task);
  absl::Status Backward(const Task& task);
  absl::Status Exchange(const Task& task);
  absl::Status AwaitValues(int block);
  void ReleaseUnits();
  absl::Status FinishReduce();
  absl::Status GatherGradients();
  std::unique_ptr<GradientReducer> MakeReducer(int rounds);
  // Returns for how long this rank has computed or waited for data since the last call.
  double TakeBusySeconds();
  absl::Status Vote(const StepRequests& requests, StepOutcome& outcome);
  absl::Status Prepare();
  absl::Status Confirm(StepOutcome& outcome);
  absl::Status ValidateOrThrow(int batches, double& loss);
  absl::Status Evaluate(std::vector<MicroBatchContext> contexts);
  absl::Status CheckDivision(const MeshShape& mesh) const;
  absl::StatusOr<MicroBatchContext> Context(MicroBatch batch, int64_t step, bool training);
  void SetPositions(int64_t sequence);
  // Waits for the device, and adds up what the ranks that divide sequences have of each loss.
  absl::StatusOr<at::Tensor> SumLosses(const at::Tensor& on_device) const;

  TrainingState& state_;
  BatchFeed& feed_;
  PhaseTimer& timer_;
  const std::atomic<bool>& interrupt_;
  BlockRunner runner_;

  // State of the current round.
  Communicator* communicator_ = nullptr;  // among all ranks
  RoundGroups groups_;
  std::unique_ptr<UnitValues> values_;  // null if every rank has whole values in memory
  TreeNode micro_batches_;              // this rank's range of the logical ones
  bool has_losses_ = true;              // of the last stage, which computes them
  bool counts_losses_ = true;           // one of the ranks that have the same range counts theirs
  std::unique_ptr<StageLink> link_;     // null if there is one stage
  double busy_ = 0.0;                   // the timer's seconds at the last vote
  int64_t device_bytes_ = 0;            // of the device's memory
  TaskTable table_, evaluation_;
  bool splits_backward_ = false;  // some of the table
  std::unique_ptr<GradientReducer> reducer_;

  at::Tensor positions_, all_positions_;   // of every context
  c10::intrusive_ptr<WeightCasts> casts_;  // of the values that units have now

  // State of the current step.
  std::vector<double> valid_tokens_;  // by micro-batch of this rank
  bool update_is_finite_ = true;      // as far as this rank has prepared it
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_ENGINE_H_
