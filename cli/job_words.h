#ifndef MUSTER_CLI_JOB_WORDS_H_
#define MUSTER_CLI_JOB_WORDS_H_

#include <optional>
#include <string>

#include "operator/api/training_job.h"

namespace muster::cli {

// Why a job does not train now, for whoever watches it.
struct NotTraining {
  // The reason of the condition that the job's state comes from: for one that recovers, why its
  // round broke, not that its pods are bound. Empty while it trains.
  std::string reason;
  // Says what failed and which try this is ("rank 1 exited with code 7; try 2 of 11"), or what the
  // workers wait for. Empty when the reason says it all.
  std::string sentence;
};

// Pure.
NotTraining WhyNotTraining(const control::TrainingJob& job);

// Why a job on one machine, where none of its workers has a place, will never get one, in the
// scheduler's words: nobody else is on that machine, and it does not grow. Pure.
std::optional<std::string> WhyItNeverFits(const control::TrainingJob& job);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOB_WORDS_H_
