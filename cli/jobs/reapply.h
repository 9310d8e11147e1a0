#ifndef MUSTER_CLI_JOBS_REAPPLY_H_
#define MUSTER_CLI_JOBS_REAPPLY_H_

#include <cstdint>
#include <string>

#include "operator/api/training_job.h"

namespace muster::cli {

// Holds the hashes of the scripts that a job's command names, as made by ScriptHashes()
// (cli/jobs/worker_program.h).
inline constexpr char kScriptsAnnotation[] = "muster.dev/scripts";

// The action of `muster run` on a job that already exists under the manifest's name.
enum class Reapply {
  kKeep,     // it has succeeded with this very manifest: nothing is left to run
  kUpdate,   // it continues, with the manifest's changes
  kReplace,  // it is created anew: it never ran, or has ended and may run again
  kRefuse,   // it would be another run that takes over this one's progress
};

struct ReapplyVerdict {
  Reapply what = Reapply::kUpdate;
  std::string sentence;  // describes the difference; empty unless `what` is kRefuse
};

// `wanted` is the manifest's job, `current` the existing one, `steps` the number of steps it has
// made. A job that failed before its first step holds no progress that another program could take
// over, so a script may be corrected and run again. Pure.
ReapplyVerdict DecideReapply(const control::TrainingJob& current, int64_t steps,
                             const control::TrainingJob& wanted);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_REAPPLY_H_
