#ifndef MUSTER_OPERATOR_CORE_STATE_GROWTH_SIZES_H_
#define MUSTER_OPERATOR_CORE_STATE_GROWTH_SIZES_H_

#include <vector>

#include "proto/muster/v1alpha1/training_job.pb.h"

// The numbers of workers that a job may have. Pure. Specs are defaulted.
namespace muster::control {

// Returns the sizes above workers.count that the job may have, ascending. With elastic.policy Grow
// these are the numbers up to workers.max for which parallelism.shard divides the ranks,
// topology.slices divides the workers, and a step is shorter than at every smaller size. With
// workers.spares they are the numbers up to workers.count plus spares, in whole slices. Empty for
// every other job.
std::vector<int> LargerSizes(const v1alpha1::TrainingJobSpec& spec);

// Returns the numbers from workers.min to workers.count, ascending, that can form a round and are
// whole slices.
std::vector<int> SizesUpToCount(const v1alpha1::TrainingJobSpec& spec);

// Returns how long a step takes with `workers` workers, in a unit that does not depend on that
// number: with `trainer`, the micro-batches of the rank that has the most. A command is taken to
// divide its work evenly among its workers.
double RelativeStepTime(const v1alpha1::TrainingJobSpec& spec, int workers);

// Returns the largest of `sizes` that is at most `size`; 0 if all are larger.
int LargestUpTo(const std::vector<int>& sizes, int size);

// Returns the number of workers beyond workers.count that the job's queue has given it, as a size
// that the spec still allows; 0 if it has no more than workers.count.
int GrantedSize(const v1alpha1::TrainingJobSpec& spec, const v1alpha1::TrainingJobStatus& status);

// Returns the number of workers that a job asks its queue for: workers.count, or the smaller number
// in status.elastic.kept if the job has given workers back (low_utilisation.h).
int RequestedSize(const v1alpha1::TrainingJobSpec& spec, const v1alpha1::TrainingJobStatus& status);

// Returns those of `larger`, the job's LargerSizes(), that it may shrink to or wants to grow to:
// up to the granted one, and those that status.elastic says are worth it.
std::vector<int> OfferedSizes(const std::vector<int>& larger,
                              const v1alpha1::TrainingJobStatus& status);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_GROWTH_SIZES_H_
