#ifndef MUSTER_CLI_KUBECTL_CLUSTER_H_
#define MUSTER_CLI_KUBECTL_CLUSTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "cli/flags/flags.h"
#include "operator/api/training_job.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/rest/rest_api.h"

namespace muster::cli::kubectl {

// The cluster and the namespace that a command is about, with the rights of the caller.
struct Cluster {
  std::unique_ptr<kube::RestApi> api;
  std::string user;        // the caller's name in the kubeconfig; empty within a pod
  std::string name_space;  // empty: all of them, if the command knows --all-namespaces
};

// The flags that choose them: --kubeconfig, --context, --namespace.
std::vector<FlagSpec> ClusterFlags();
FlagSpec AllNamespacesFlag();
FlagSpec OutputFlag();

// Reads `arguments` with the letters that kubectl has for flags: -n, -o, -A, -f, -l, -w.
absl::StatusOr<Flags> ParseFlags(const std::vector<std::string>& arguments,
                                 const std::vector<FlagSpec>& specs);

// Connects as kubectl would: by --kubeconfig, $KUBECONFIG or ~/.kube/config, and within a pod by
// its service account. InvalidArgument names what is wrong in the configuration.
absl::StatusOr<Cluster> Connect(const Flags& flags);

// Returns the job that the only positional argument names. InvalidArgument if there is not one.
absl::StatusOr<kube::ObjectKey> NamedJob(const Cluster& cluster, const Flags& flags);

// True for -o json; InvalidArgument for another form than json and table.
absl::StatusOr<bool> WantsJson(const Flags& flags);

absl::StatusOr<std::vector<control::TrainingJob>> ListJobs(const Cluster& cluster);
// The pods of a job, and all events of its namespace.
absl::StatusOr<std::vector<Json>> PodsOf(kube::Api& api, const kube::ObjectKey& job);
absl::StatusOr<std::vector<Json>> EventsIn(kube::Api& api, const std::string& name_space);

// Prints the error to stderr and returns its exit code (base/exit_codes.h); help goes to stdout.
int Fail(const absl::Status& status);

}  // namespace muster::cli::kubectl

#endif  // MUSTER_CLI_KUBECTL_CLUSTER_H_
