#ifndef MUSTER_TRAINER_MODEL_LAYERS_TENSOR_PARALLEL_H_
#define MUSTER_TRAINER_MODEL_LAYERS_TENSOR_PARALLEL_H_

#include <cstdint>
#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/model/block.h"
#include "trainer/model/partition.h"
#include "trainer/random/element_run.h"

namespace muster::trainer {

// Tensor parallelism inside a block (Shoeybi et al., 2019) with sequence parallelism between its
// matrix products (Korthikanti et al., 2022, "Reducing activation recomputation in large
// transformer models", section 4.2.2). Between blocks, in norms, dropout and residuals, each rank
// of the tensor axis has a run of the sequence, [batch, sequence / ranks, width]. A column parallel
// layer reads the whole sequence and computes some of its outputs; the row parallel layer after it
// computes a share of a sum, which is added up as the sequence is divided again. So the gradient of
// a parameter that all ranks hold whole is a share of a sum, too.
//
// Without a tensor axis (context.axes.tensor is null) GatherSequence, ReduceToSequence and OwnRun
// return their input. If a collective fails, in the forward or the backward pass, they throw
// CommunicationError. The communicators must outlive the graph. "The whole sequence" here is what
// the ranks of one tensor group have together: with a context axis it is a part of the sequence.

// Returns this rank's part of a model.
ModelPart PartOf(const MicroBatchContext& context);

// Returns the sequence as a whole, [batch, sequence, width], from the runs of all ranks, [batch,
// sequence / ranks, width]. Its gradient is the sum over the ranks of what flows back into this
// rank's run.
at::Tensor GatherSequence(const at::Tensor& x, const MicroBatchContext& context);

// Returns the same as the rows that a linear layer reads, [batch * sequence, width].
inline at::Tensor WholeRows(const at::Tensor& x, const MicroBatchContext& context) {
  return GatherSequence(x, context).view({-1, x.size(2)});
}

// Sums x [batch, sequence, width] over the ranks, and returns this rank's run of the sum, [batch,
// sequence / ranks, width]. Its gradient is gathered from all ranks. Requires that the number of
// ranks divides the sequence.
at::Tensor ReduceToSequence(const at::Tensor& x, const MicroBatchContext& context);

// Returns this rank's run of `whole`, as a view. `dimension` is the one of the sequence. Does not
// communicate.
at::Tensor OwnRun(const at::Tensor& whole, int64_t dimension, const MicroBatchContext& context);

// Returns the positions, in the undivided sequence, of the `run` tokens that this rank has between
// blocks. The context axis divides a sequence first (RunsOfSequence), then the tensor axis divides
// each rank's part. There are several runs if the tokens are not neighbours.
std::vector<ElementRun> RowsOf(int64_t run, const MicroBatchContext& context);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_TENSOR_PARALLEL_H_
