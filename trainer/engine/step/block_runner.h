#ifndef MUSTER_TRAINER_ENGINE_STEP_BLOCK_RUNNER_H_
#define MUSTER_TRAINER_ENGINE_STEP_BLOCK_RUNNER_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "c10/util/intrusive_ptr.h"
#include "planner/activations.h"
#include "trainer/model/block.h"
#include "trainer/model/delayed_gradients.h"

namespace muster::trainer {

// Runs Forward and Backward tasks over blocks, each in an autograd graph of its own: the boundary
// between two blocks is detached, and its gradient is carried over by hand. So the blocks on both
// sides of a boundary may be on different ranks. Gradients of parameters are added into the units.
//
// A block that is recomputed (Chen et al., 2016, "Training deep nets with sublinear memory cost")
// runs without a graph and keeps its inputs and outputs alone. Its backward pass begins with the
// forward pass again, which gives the same bits, as Block promises. It is no task of its own: it
// reads what its backward pass reads, on the same rank, and all that a table could gain is to fill
// a stage's wait for gradients with one block's pass. Other blocks save their tensors in the format
// that the options say (SavedTensorsScope).
//
// LibTorch's exceptions end here, as CatchTorch has them. Not thread-safe.
class BlockRunner {
 public:
  // `model` must outlive this and be bound to its units.
  explicit BlockRunner(const Model& model) : model_(model) {}

  // Gradients are those of loss_scale * the summed loss.
  void set_loss_scale(double scale) { loss_scale_ = scale; }

  void set_activations(const planner::ActivationOptions& options) { activations_ = options; }

  // Sets the contexts of this rank's micro-batches and discards everything that was run before.
  // Those that are not for training are run forward alone: nothing is kept for a backward pass.
  void Begin(std::vector<MicroBatchContext> contexts);
  // Lets the backward passes of these micro-batches run in two halves. Call it after Begin() and
  // before the first Forward(). Begin() undoes it.
  void SplitBackward();
  // The functions below run in the order that a task table has; a call out of order is a bug, and
  // is not always found.
  absl::Status Forward(int block, int micro_batch);
  absl::Status Backward(int block, int micro_batch);
  // The two halves of Backward(), for a block whose can_split_backward() is true. The first
  // computes the gradients of inputs, and those of parameters that the block does not delay, such
  // as biases. The second adds the gradients of weights that were delayed.
  absl::Status BackwardInput(int block, int micro_batch);
  absl::Status BackwardWeight(int block, int micro_batch);

  // Returns the outputs of a block that has run, to be sent to the rank that has the next block.
  // The reference is valid until the block's backward pass.
  const std::vector<at::Tensor>& OutputsOf(int block, int micro_batch) const;
  // Takes the outputs of `block`, which ran on another rank. This rank has the next block.
  void TakeOutputs(int block, int micro_batch, std::vector<at::Tensor> outputs);
  // Returns the gradients of outputs from TakeOutputs(), and forgets them and the outputs. The next
  // block's backward pass must have run. The gradient of an output that the loss does not depend on
  // is undefined.
  std::vector<at::Tensor> GradientsOf(int block, int micro_batch);
  // Takes the gradients of OutputsOf(), from another rank.
  void TakeGradients(int block, int micro_batch, std::vector<at::Tensor> gradients);

  // Returns the losses of the first `count` micro-batches, each summed over valid tokens, as FP64
  // [count] on their device, for which it does not wait. Their last block must have run.
  at::Tensor LossesOnDevice(int64_t count) const;
  // The same numbers on the host. Waits for the device, once.
  std::vector<double> losses(int64_t count) const;

 private:
  struct Boundary {
    std::vector<at::Tensor> inputs;  // leaves of the block's graph
    std::vector<at::Tensor> outputs;
    std::vector<at::Tensor> auxiliary_losses;
  };
  void ForwardOrThrow(int block, int micro_batch);
  void RecomputeOrThrow(int block, int micro_batch);
  // Runs the block on boundary.inputs, and sets the rest of `boundary`.
  void Run(int block, int micro_batch, bool with_graph, Boundary& boundary);
  int64_t blocks() const { return static_cast<int64_t>(model_.blocks.size()); }
  bool IsRecomputed(int block) const {
    return planner::IsRecomputed(activations_, block, blocks());
  }
  void BackwardOrThrow(int block, int micro_batch);
  bool IsLast(int block) const { return block + 1 == blocks(); }

  const Model& model_;
  double loss_scale_ = 1.0;
  planner::ActivationOptions activations_;
  std::vector<MicroBatchContext> contexts_;
  std::vector<at::Tensor> losses_;
  std::map<std::pair<int, int>, Boundary> alive_;
  // Gradients of the outputs of (block, micro-batch), left there by the block after it.
  std::map<std::pair<int, int>, std::vector<at::Tensor>> output_gradients_;
  const c10::intrusive_ptr<DelayedGradients> delayed_ = c10::make_intrusive<DelayedGradients>();
  std::map<std::pair<int, int>, std::vector<DelayedGradients::Item>> waiting_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_BLOCK_RUNNER_H_
