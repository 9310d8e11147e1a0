#ifndef MUSTER_OPERATOR_CORE_SOURCES_H_
#define MUSTER_OPERATOR_CORE_SOURCES_H_

#include <optional>
#include <string>

#include "operator/core/round_memory.h"
#include "operator/core/view.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// What ranks open when they start and keep while they live: the data, and the directory of the
// checkpoints. Every rank would refuse a round by other ones, so a change of them is not followed
// while the job runs: it goes on by the spec without that change. Pure.
namespace muster::control {

struct RefusedChange {
  // The job's spec with the sources that its ranks have; absent in a leadership that has opened no
  // round, which knows that they were others, but not which.
  std::optional<v1alpha1::TrainingJobSpec> spec;
  std::string sentence;  // what was changed, and how to go on
};

// Nothing when the spec has the sources by which the job trains, or it does not train.
std::optional<RefusedChange> RefuseOtherSources(const JobView& view, const RoundMemory& memory);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SOURCES_H_
