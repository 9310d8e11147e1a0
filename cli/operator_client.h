#ifndef MUSTER_CLI_OPERATOR_CLIENT_H_
#define MUSTER_CLI_OPERATOR_CLIENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files.h"
#include "base/json.h"
#include "cli/flags.h"

namespace muster::cli {

// An operator whose HTTP API can be asked: a cluster's, or the `muster run` that owns a job's
// state.
struct LiveOperator {
  int pid = 0;
  std::string http;         // "unix:/path" or "host:port"
  std::string token;        // sent with each call; empty: none
  bool tls = false;         // a cluster's
  std::string ca;           // PEM to trust then; empty: the machine's roots
  std::string server_name;  // what its certificate must be for; empty: the host of `http`
};

// The flags that say which operator to ask: --server and those that go with it.
std::vector<FlagSpec> ServerFlags();
// The operator that --server names: https://HOST:PORT of a cluster, http://HOST:PORT or unix:/PATH
// of this machine. InvalidArgument says what is none, or which file cannot be read.
absl::StatusOr<LiveOperator> ServerAt(Files& files, const Flags& flags);

// Calls the operator's JSON API. Unavailable when it does not answer, or with an answer that is
// encoded or longer than 64 MiB; otherwise its own error: NotFound or InvalidArgument where it says
// so, FailedPrecondition for the rest.
absl::StatusOr<Json> CallOperator(const LiveOperator& live, const std::string& method,
                                  const std::string& path, const std::string& body = "");

}  // namespace muster::cli

#endif  // MUSTER_CLI_OPERATOR_CLIENT_H_
