#ifndef MUSTER_CLI_JOBS_JOB_WORDS_H_
#define MUSTER_CLI_JOBS_JOB_WORDS_H_

#include <optional>
#include <string>

#include "operator/api/training_job.h"

namespace muster::cli {

// The reason why a job does not train now, for people.
struct NotTraining {
  // The reason of the condition that the job's state comes from; for a recovering job it is that of
  // the broken round, not that its pods are bound. Empty while it trains.
  std::string reason;
  // Describes the failure and the number of the attempt ("rank 1 exited with code 7; try 2 of 11"),
  // or what the workers wait for. Empty if the reason suffices.
  std::string sentence;
};

NotTraining WhyNotTraining(const control::TrainingJob& job);

// Returns the scheduler's message if a job on one machine, none of whose workers is placed, can
// never be placed: there are no others on that machine to make room, and it does not grow. Pure.
std::optional<std::string> WhyItNeverFits(const control::TrainingJob& job);

// Returns why a stop that was asked for waits: the steps that are not saved, and the error. nullopt
// if none waits.
std::optional<std::string> StopThatWaits(const control::TrainingJob& job);

// Returns the same of a job that was stopped without them.
std::optional<std::string> StoppedWithout(const control::TrainingJob& job);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_JOB_WORDS_H_
