#ifndef MUSTER_CLI_RUN_TEMPLATE_NOTES_H_
#define MUSTER_CLI_RUN_TEMPLATE_NOTES_H_

#include <string>
#include <vector>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::cli {

// Returns a sentence for each part of the pod template that changes what a worker finds in a
// cluster and has no effect on this machine. Parts that are refused here, such as variables of a
// Secret, have none. Pure.
std::vector<std::string> PartsWithoutEffectHere(const v1alpha1::TrainingJobSpec& spec);

}  // namespace muster::cli

#endif  // MUSTER_CLI_RUN_TEMPLATE_NOTES_H_
