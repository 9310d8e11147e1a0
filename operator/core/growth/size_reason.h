#ifndef MUSTER_OPERATOR_CORE_GROWTH_SIZE_REASON_H_
#define MUSTER_OPERATOR_CORE_GROWTH_SIZE_REASON_H_

#include <string>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// The number of workers that a job is to have, and the reason why it is not another one.
struct SizeReason {
  int workers = 0;
  std::string reason;    // of docs/elasticity.md or docs/states.md
  std::string sentence;  // for people
};

// Explains the size of a job by its spec, which is defaulted, and its status. The reason is empty
// for a job that has ended, is suspended, or could not have another size. Pure.
SizeReason ExplainSize(const v1alpha1::TrainingJobSpec& spec,
                       const v1alpha1::TrainingJobStatus& status);

// Returns a sentence about the newest change of the job's size; empty if there was none.
std::string DescribeResize(const v1alpha1::TrainingJobStatus& status);

// Returns a sentence about the job's spares and the newest swap; empty if it has none.
std::string DescribeSpares(const v1alpha1::TrainingJobSpec& spec,
                           const v1alpha1::TrainingJobStatus& status);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_GROWTH_SIZE_REASON_H_
