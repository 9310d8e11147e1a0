#ifndef MUSTER_CLI_SHOW_JOB_DESCRIPTION_H_
#define MUSTER_CLI_SHOW_JOB_DESCRIPTION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/json.h"
#include "operator/api/training_job.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::cli {

// All that is known about a job besides its object.
struct JobSurroundings {
  std::vector<Json> pods;    // the job's
  std::vector<Json> events;  // any of its namespace
  // The newest step, where every step is at hand: on one machine.
  std::optional<v1alpha1::StepReport> last_step;
  // False if the `muster run` that the job needs is gone.
  bool has_operator = true;
};

// Returns everything that is known about a job, for people: how it stands, its progress and
// failures, its conditions with their reasons, its pods and events. Pure: `now` is the wall clock.
std::string DescribeJob(const control::TrainingJob& job, const JobSurroundings& around,
                        absl::Time now);

// Returns the job's state, with a note if it cannot go on because its operator is gone. Pure.
std::string DescribeState(const control::TrainingJob& job, bool has_operator);

// Returns what the time of a job's ranks went into, by status.ledger: seconds of one rank, and the
// share of all. Empty if nothing is filed yet. Pure.
std::string LedgerTable(const v1alpha1::LedgerStatus& ledger);

// Returns where the job's newest checkpoint is, and the events that tell of saves. Pure.
std::string DescribeCheckpoints(const control::TrainingJob& job, const std::vector<Json>& events,
                                absl::Time now);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SHOW_JOB_DESCRIPTION_H_
