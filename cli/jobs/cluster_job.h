#ifndef MUSTER_CLI_JOBS_CLUSTER_JOB_H_
#define MUSTER_CLI_JOBS_CLUSTER_JOB_H_

#include <vector>

#include "cli/flags/flags.h"

namespace muster::cli {

// Commands for a job on a cluster. They write the TrainingJob at the API server with the rights of
// the caller; the operator accepts no commands.

// The flags that choose a cluster: --kubeconfig and related ones.
std::vector<FlagSpec> ClusterFlags();
bool NamesCluster(const Flags& flags);

// Writes spec.suspend of the named job unless it has ended; returns an exit code.
int SuspendOnCluster(const Flags& flags, bool suspend);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_CLUSTER_JOB_H_
