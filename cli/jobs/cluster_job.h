#ifndef MUSTER_CLI_JOBS_CLUSTER_JOB_H_
#define MUSTER_CLI_JOBS_CLUSTER_JOB_H_

#include <vector>

#include "absl/status/status.h"
#include "cli/flags/flags.h"
#include "cli/jobs/tune_words.h"

namespace muster::cli {

// Commands for a job on a cluster. They write the TrainingJob at the API server with the rights of
// the caller; the operator accepts no commands.

// The flags that choose a cluster: --kubeconfig and related ones.
std::vector<FlagSpec> ClusterFlags();
bool NamesCluster(const Flags& flags);

// Writes spec.suspend of the named job unless it has ended; returns an exit code.
int SuspendOnCluster(const Flags& flags, bool suspend);

// Writes the change of the named job, says what was written, and waits for it if asked to. The
// errors are those of TuneAndSay() (tune_job.h), and of the kubeconfig.
absl::Status TuneOnCluster(const Flags& flags, TuneCall call);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_CLUSTER_JOB_H_
