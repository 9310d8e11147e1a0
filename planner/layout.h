#ifndef MUSTER_PLANNER_LAYOUT_H_
#define MUSTER_PLANNER_LAYOUT_H_

#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::planner {

// Returns the number of ranks of one worker: its GPUs, or `ranks` if it has none; at least 1. Pure.
int RanksOf(const v1alpha1::WorkersSpec& workers);

// Return how many ranks divide each layer, into how many stages the layers are divided, how many
// ranks divide each sequence, and how many therefore work on one micro-batch; at least 1. Pure.
int TensorOf(const v1alpha1::ParallelismSpec& parallelism);
int PipelineOf(const v1alpha1::ParallelismSpec& parallelism);
int ContextOf(const v1alpha1::ParallelismSpec& parallelism);
int RanksOfMicroBatch(const v1alpha1::ParallelismSpec& parallelism);
// Returns among how many ranks the spec itself says that zero divides the state; 1 if it says none.
int ShardOf(const v1alpha1::ParallelismSpec& parallelism);

// Returns the layout of a round. `ranks` is a positive multiple of RanksOfMicroBatch(). Where
// parallelism.shard does not divide the others, the state is divided among the next larger number
// that does, so that no rank holds more of it than the job asked for; fewer ranks than `shard` all
// divide it. Pure.
v1alpha1::Mesh LayOutRanks(const v1alpha1::ParallelismSpec& parallelism, int ranks);

// Returns what a rank of the layout holds of a copy of the state. Tensor is the innermost axis of
// the numbers of ranks, then context, whose ranks hold the same, and shard; pipeline is the
// outermost. Pure.
v1alpha1::StateSlice SliceOfRank(const v1alpha1::Mesh& mesh, int rank);

// Returns how many of `workers` form a round: the most that fill the stages of a pipeline alike,
// with a multiple of parallelism.shard ranks in each. Where no number does, the most that fill the
// stages form one if that leaves the state divided among at least `shard` ranks, or
// parallelism.minShard; 0 otherwise. The ranks of a tensor and of a context group count as one.
// Pure.
int WorkersThatForm(const v1alpha1::ParallelismSpec& parallelism, int ranks_of_worker, int workers);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_LAYOUT_H_
