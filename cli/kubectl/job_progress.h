#ifndef MUSTER_CLI_KUBECTL_JOB_PROGRESS_H_
#define MUSTER_CLI_KUBECTL_JOB_PROGRESS_H_

#include <optional>
#include <string>

#include "cli/show/progress_line.h"
#include "operator/api/training_job.h"

namespace muster::cli::kubectl {

// Returns the contents of a job's progress line, as far as its status has them. Pure.
ProgressView ProgressOf(const control::TrainingJob& job);

// How a followed job ended: the exit code of the command, and a sentence for people.
struct JobEnd {
  int exit_code = 0;
  std::string sentence;
};

// Returns nullopt while there is something to wait for. A suspended job is at an end as far as it
// is followed. Pure.
std::optional<JobEnd> EndOf(const control::TrainingJob& job);

}  // namespace muster::cli::kubectl

#endif  // MUSTER_CLI_KUBECTL_JOB_PROGRESS_H_
