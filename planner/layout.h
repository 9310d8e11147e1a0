#ifndef MUSTER_PLANNER_LAYOUT_H_
#define MUSTER_PLANNER_LAYOUT_H_

#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::planner {

// Returns the number of ranks of one worker: its GPUs, or `ranks` if it has none; at least 1. Pure.
int RanksOf(const v1alpha1::WorkersSpec& workers);

// Returns the layout of a round of so many ranks, at least 1. While a job has fewer or more ranks
// than its spec counts, parallelism.shard may not divide them: the largest number below it that
// does is used then, and the state is divided among fewer ranks. Pure.
v1alpha1::Mesh LayOutRanks(const v1alpha1::ParallelismSpec& parallelism, int ranks);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_LAYOUT_H_
