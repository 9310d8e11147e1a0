#ifndef MUSTER_OPERATOR_KUBE_CREDENTIALS_KUBECONFIG_H_
#define MUSTER_OPERATOR_KUBE_CREDENTIALS_KUBECONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files.h"
#include "operator/kube/credentials/rest_config.h"

// Where the API server is, from the files that kubectl reads or from inside a pod. Errors name
// "file: field: what is wrong" and never hold a secret. Refused, in a sentence: certificates that
// are not verified, http, proxies other than over http, passwords, auth providers, impersonation.
//
// Where no proxy-url is given, HTTPS_PROXY and NO_PROXY name the proxy (proxy.h).
namespace muster::kube {

// Merges `paths` as kubectl does: the first file to name a cluster, user or context counts, and so
// does the first current-context; a file that is absent is skipped, but not all may be. Relative
// paths inside are relative to their file. `context` empty: the current one. kInvalidArgument,
// kNotFound (no file at all).
absl::StatusOr<RestConfig> LoadKubeconfig(const std::vector<std::string>& paths,
                                          const std::string& context = "",
                                          Files& files = FileSystem());

// `flag` when given, else the list in $KUBECONFIG, else ~/.kube/config.
std::vector<std::string> KubeconfigPaths(const std::string& flag);

// What a pod is given: KUBERNETES_SERVICE_HOST and _PORT, and a token, a CA and a namespace under
// `directory`. kFailedPrecondition outside of a pod.
absl::StatusOr<RestConfig> InClusterConfig(
    const std::string& directory = "/var/run/secrets/kubernetes.io/serviceaccount",
    Files& files = FileSystem());

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_CREDENTIALS_KUBECONFIG_H_
