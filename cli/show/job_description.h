#ifndef MUSTER_CLI_SHOW_JOB_DESCRIPTION_H_
#define MUSTER_CLI_SHOW_JOB_DESCRIPTION_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/json.h"
#include "operator/api/training_job.h"

namespace muster::cli {

// Returns everything that a cluster knows about a job, for people: how it stands, its progress and
// failures, its conditions with their reasons, its pods and events. `pods` are the job's, `events`
// any of its namespace. Pure: `now` is the wall clock.
std::string DescribeJob(const control::TrainingJob& job, const std::vector<Json>& pods,
                        const std::vector<Json>& events, absl::Time now);

// Returns where the job's newest checkpoint is, and the events that tell of saves. Pure.
std::string DescribeCheckpoints(const control::TrainingJob& job, const std::vector<Json>& events,
                                absl::Time now);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SHOW_JOB_DESCRIPTION_H_
