#ifndef MUSTER_CLI_SHOW_JOB_TABLE_H_
#define MUSTER_CLI_SHOW_JOB_TABLE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/api/training_job.h"

// Jobs as tables, for people. Pure: `now` is the wall clock.
namespace muster::cli {

// One row for each job, with its namespace if `with_namespace`.
std::string JobTable(const std::vector<control::TrainingJob>& jobs, bool with_namespace,
                     absl::Time now);

// The jobs that train, fastest first, then those that want to; the last row sums their workers and
// tokens per second. Jobs that have ended or are suspended are left out.
std::string TopTable(const std::vector<control::TrainingJob>& jobs, bool with_namespace);

// True for a job that has ended or is suspended, as its status says.
bool IsOver(const control::TrainingJob& job);

// The age of an object as kubectl writes it: 45s, 12m, 5h, 3d; empty for a time that is not known.
std::string Age(absl::Time since, absl::Time now);

// The steps of a job: "12/300", "12" if their number is not known, empty before the first one.
std::string StepsOf(const control::TrainingJob& job);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SHOW_JOB_TABLE_H_
