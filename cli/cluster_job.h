#ifndef MUSTER_CLI_CLUSTER_JOB_H_
#define MUSTER_CLI_CLUSTER_JOB_H_

#include <vector>

#include "cli/flags.h"

namespace muster::cli {

// Commands to a job of a cluster. They are writes of the TrainingJob with the rights of whoever
// runs them, at the API server: the operator takes none.

// --kubeconfig and those that go with it.
std::vector<FlagSpec> ClusterFlags();
bool NamesCluster(const Flags& flags);

// Writes spec.suspend of the job that is named; an exit code. An ended job is left alone.
int SuspendOnCluster(const Flags& flags, bool suspend);

}  // namespace muster::cli

#endif  // MUSTER_CLI_CLUSTER_JOB_H_
