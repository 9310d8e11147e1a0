#ifndef MUSTER_CLI_REAPPLY_H_
#define MUSTER_CLI_REAPPLY_H_

#include <cstdint>
#include <string>

#include "operator/api/training_job.h"

namespace muster::cli {

// The contents of the scripts that a job's command names, as ScriptPrints() (cli/script_prints.h)
// has them.
inline constexpr char kScriptsAnnotation[] = "muster.dev/scripts";

// A manifest's name may be that of a job that is there already: this is what `muster run` does with
// that job.
enum class Reapply {
  kKeep,     // it has succeeded with this very manifest: there is nothing to run
  kUpdate,   // it goes on, with what the manifest changed
  kReplace,  // it is made anew: nothing of it ran, or it has ended and may run again
  kRefuse,   // it would be another run, and would take over this one's progress
};

struct ReapplyVerdict {
  Reapply what = Reapply::kUpdate;
  std::string sentence;  // says what differs; empty unless `what` is kRefuse
};

// `wanted` is the manifest's job, `current` the one that is there, `steps` how many steps it has
// made. A job that failed before its first step holds nothing that another program could take over:
// a script may be mended and run again. Pure.
ReapplyVerdict DecideReapply(const control::TrainingJob& current, int64_t steps,
                             const control::TrainingJob& wanted);

}  // namespace muster::cli

#endif  // MUSTER_CLI_REAPPLY_H_
