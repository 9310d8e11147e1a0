#ifndef MUSTER_CLI_RUN_RUN_OUTCOME_H_
#define MUSTER_CLI_RUN_RUN_OUTCOME_H_

#include <string>

#include "cli/flags/job_paths.h"
#include "cli/jobs/history.h"
#include "operator/api/training_job.h"

// The end of `muster run`: each function prints how the run ended, with the command that goes on
// from there, and returns the exit code (base/exit_codes.h).

namespace muster::cli {

// The job is over: prints the summary of a trainer's run, whose curve is written beside its
// checkpoints, and the reason of a failure. `interrupted`: the user asked for the end.
int ReportOutcome(const JobPaths& paths, const control::TrainingJob& job, const History& history,
                  double wall_seconds, bool interrupted);

// Nothing ran, so there is no summary.
int ReportEndedBefore(const JobPaths& paths);

// No worker could ever be placed on this machine, for the reason `why`.
int ReportNeverFits(const control::TrainingJob& job, const std::string& why);

// The workers were killed: names the newest complete checkpoint, from which the job resumes, and
// the steps that are lost.
int ReportStoppedAtOnce(const JobPaths& paths, const control::TrainingJob& job,
                        const History& history);

// Prints what a stopped job that is resumed trains again, because it is in no checkpoint.
void ReportTrainedAgain(const control::TrainingJob& job, const History& history);

}  // namespace muster::cli

#endif  // MUSTER_CLI_RUN_RUN_OUTCOME_H_
