#ifndef MUSTER_CLI_JOBS_OPERATOR_CLIENT_H_
#define MUSTER_CLI_JOBS_OPERATOR_CLIENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "base/json.h"
#include "cli/flags/flags.h"

namespace muster::cli {

// An operator with a reachable HTTP API: a cluster's, or the `muster run` that owns a job's state.
struct LiveOperator {
  int pid = 0;
  std::string http;         // "unix:/path" or "host:port"
  std::string token;        // sent with each call unless it is empty
  bool tls = false;         // true for a cluster's
  std::string ca;           // PEM of the trusted CA; empty: the machine's roots
  std::string server_name;  // expected name in the certificate; empty: the host of `http`
};

// The flags that choose an operator: --server and related ones.
std::vector<FlagSpec> ServerFlags();
// Returns the operator at --server: https://HOST:PORT of a cluster, http://HOST:PORT or unix:/PATH
// of this machine. InvalidArgument for any other form or an unreadable file.
absl::StatusOr<LiveOperator> ServerAt(Files& files, const Flags& flags);

// Calls the operator's JSON API. Unavailable if there is no answer, or one that is encoded or
// longer than 64 MiB. Errors of the operator are NotFound for 404, InvalidArgument for 400, and
// FailedPrecondition for other codes.
absl::StatusOr<Json> CallOperator(const LiveOperator& live, const std::string& method,
                                  const std::string& path, const std::string& body = "");

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_OPERATOR_CLIENT_H_
