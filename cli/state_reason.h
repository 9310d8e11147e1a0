#ifndef MUSTER_CLI_STATE_REASON_H_
#define MUSTER_CLI_STATE_REASON_H_

#include <string>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::cli {

// The reason of the condition that the job's state comes from; empty while it trains. Of a job that
// recovers it says why its round broke, not that its pods are bound.
std::string StateReason(const v1alpha1::TrainingJobStatus& status);

}  // namespace muster::cli

#endif  // MUSTER_CLI_STATE_REASON_H_
