#ifndef MUSTER_OPERATOR_CORE_ENDING_SOURCES_H_
#define MUSTER_OPERATOR_CORE_ENDING_SOURCES_H_

#include <optional>
#include <string>

#include "operator/core/state/round_memory.h"
#include "operator/core/state/view.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The sources of a run, which ranks open when they start and keep while they live: the data, and
// the directory of the checkpoints. Every rank would refuse a round with other sources, so a change
// of them is not followed while the job runs: the job continues by the spec without that change.
// Pure.
namespace muster::control {

struct RejectedChange {
  // The job's spec with the sources that its ranks have. Absent in a leadership that has opened no
  // round: it can see that the sources differ, but not what they were.
  std::optional<v1alpha1::TrainingJobSpec> spec;
  std::string sentence;  // the change, and how to continue
};

// Returns nullopt if the job trains by the sources in its spec, or does not train.
std::optional<RejectedChange> RejectSourceChange(const JobView& view, const RoundMemory& memory);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ENDING_SOURCES_H_
