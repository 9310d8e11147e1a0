#ifndef MUSTER_CLI_JOB_WORDS_H_
#define MUSTER_CLI_JOB_WORDS_H_

#include <optional>
#include <string>

#include "operator/api/training_job.h"

namespace muster::cli {

// Why the job does not train now, for the one who watches it: what failed and which try this is
// ("rank 1 exited with code 7; try 2 of 11"), or what its workers wait for. Empty when there is
// nothing to say. Pure.
std::string WhyNotTraining(const control::TrainingJob& job);

// Of a job on one machine, none of whose workers has a place: why it will never get one, in the
// scheduler's words. Nobody else is on that machine, and it does not grow. Pure.
std::optional<std::string> WhyItNeverFits(const control::TrainingJob& job);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOB_WORDS_H_
