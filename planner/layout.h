#ifndef MUSTER_PLANNER_LAYOUT_H_
#define MUSTER_PLANNER_LAYOUT_H_

#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::planner {

// Returns the number of ranks of one worker: its GPUs, or `ranks` if it has none; at least 1. Pure.
int RanksOf(const v1alpha1::WorkersSpec& workers);

// The functions below are pure. Unset numbers count as 1.

// Returns the number of ranks that divide each layer.
int TensorOf(const v1alpha1::ParallelismSpec& parallelism);
// Returns the number of stages.
int PipelineOf(const v1alpha1::ParallelismSpec& parallelism);
// Returns the number of runs of blocks that each stage has.
int ChunksOf(const v1alpha1::ParallelismSpec& parallelism);
// Returns the number of ranks that divide each sequence.
int ContextOf(const v1alpha1::ParallelismSpec& parallelism);
// Returns the number of ranks that work on one micro-batch: the product of the three above.
int RanksOfMicroBatch(const v1alpha1::ParallelismSpec& parallelism);
// Returns parallelism.shard, or 1 if it is unset or zero is 0.
int ShardOf(const v1alpha1::ParallelismSpec& parallelism);

// Returns the layout of a round. `ranks` must be a positive multiple of RanksOfMicroBatch(); the
// quotient is the number of groups. With zero, the shard axis is the smallest number >=
// parallelism.shard that divides the number of groups, so that no rank holds more than the job
// asked for. If `shard` is unset, or there are fewer groups than `shard`, all groups divide the
// state.
v1alpha1::Mesh LayOutRanks(const v1alpha1::ParallelismSpec& parallelism, int ranks);

// Returns the slice of a copy of the state that a rank holds. Ranks are numbered as pipeline x data
// x shard x context x tensor, with tensor innermost. Ranks that differ in data or context only hold
// the same slice. Requires 0 <= rank < the number of ranks.
v1alpha1::StateSlice SliceOfRank(const v1alpha1::Mesh& mesh, int rank);

// Returns how many of `workers` form a round. It is the largest number that gives every stage
// equally many whole tensor and context groups, in a multiple of parallelism.shard. If there is no
// such number, `shard` need not divide: it is the largest number that fills the stages and context
// groups, provided that at least parallelism.minShard groups (or `shard`, if that is unset) then
// divide the state. Otherwise returns 0.
int WorkersThatForm(const v1alpha1::ParallelismSpec& parallelism, int ranks_of_worker, int workers);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_LAYOUT_H_
