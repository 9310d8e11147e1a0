#ifndef MUSTER_OPERATOR_KUBE_CREDENTIALS_KUBECONFIG_H_
#define MUSTER_OPERATOR_KUBE_CREDENTIALS_KUBECONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "operator/kube/credentials/rest_config.h"

// Finds the API server from the files that kubectl reads or from inside a pod. Errors read "file:
// field: what is wrong" and never contain a secret. Unverified certificates, plain http, proxies
// over anything but http, passwords, auth providers and impersonation are rejected with an
// explanation.
//
// If no proxy-url is given, HTTPS_PROXY and NO_PROXY select the proxy (proxy.h).
namespace muster::kube {

// Merges `paths` as kubectl does: the first file that names a cluster, user or context wins, and so
// does the first current-context. Absent files are skipped, but at least one must exist. Relative
// paths in a file are relative to it. An empty `context` means the current one. Returns
// kInvalidArgument, or kNotFound if there is no file at all.
absl::StatusOr<RestConfig> LoadKubeconfig(const std::vector<std::string>& paths,
                                          const std::string& context = "",
                                          Files& files = FileSystem());

// Returns `flag` if given, else the list in $KUBECONFIG, else ~/.kube/config.
std::vector<std::string> KubeconfigPaths(const std::string& flag);

// Reads the configuration inside a pod: KUBERNETES_SERVICE_HOST and _PORT, and the token, CA and
// namespace in `directory`. kFailedPrecondition outside a pod.
absl::StatusOr<RestConfig> InClusterConfig(
    const std::string& directory = "/var/run/secrets/kubernetes.io/serviceaccount",
    Files& files = FileSystem());

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_CREDENTIALS_KUBECONFIG_H_
