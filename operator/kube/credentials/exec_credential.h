#ifndef MUSTER_OPERATOR_KUBE_CREDENTIALS_EXEC_CREDENTIAL_H_
#define MUSTER_OPERATOR_KUBE_CREDENTIALS_EXEC_CREDENTIAL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/process/process.h"
#include "operator/kube/credentials/rest_config.h"

namespace muster::kube {

// The credential that an exec plugin printed.
struct ExecCredential {
  std::string token;
  std::string client_certificate;  // PEM; with a key
  std::string client_key;
  absl::Time expires = absl::InfiniteFuture();  // Wall
};

// Runs the plugin of `config` to its end and parses its output. The plugin is killed after
// `within`, or when `stop` becomes readable. Errors name the program and, if it is missing, its
// install hint; they never contain its output.
absl::StatusOr<ExecCredential> RunExecPlugin(const RestConfig& config, absl::Duration within,
                                             ProcessLauncher& launcher, int stop = -1);

// Reads an ExecCredential document.
absl::StatusOr<ExecCredential> ParseExecCredential(const std::string& text,
                                                   const std::string& api_version);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_CREDENTIALS_EXEC_CREDENTIAL_H_
