#ifndef MUSTER_OPERATOR_KUBE_HTTP_PROXY_H_
#define MUSTER_OPERATOR_KUBE_HTTP_PROXY_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "operator/kube/http/server_url.h"

// HTTP proxies on the way to an API server. They pass on a connection (CONNECT) whose TLS is
// between the server and us, and see nothing of what goes through it.
namespace muster::kube {

struct ProxyServer {
  std::string host;
  int port = 80;
  std::string authorization;  // for the header of that name; a secret. Empty: none
};

// "http://[user:password@]host[:port]"; anything else is kInvalidArgument with a sentence, which
// has nothing of user and password.
absl::StatusOr<ProxyServer> ParseProxyUrl(std::string_view url);

// The proxy that the environment names for `server`, by the rules that Go's and so Kubernetes'
// programs have: HTTPS_PROXY, and NO_PROXY for those that are reached without: "*", names with all
// that is below them, names that begin with a dot, addresses and ranges of them, each with a port
// or not. Servers on this machine are reached without, too. Empty: none.
std::string ProxyFromEnvironment(const ServerUrl& server,
                                 const std::function<std::string(const std::string&)>& environment);

// Asks the proxy at the other end of `socket` for a connection to `server`.
absl::Status OpenTunnel(int socket, const ProxyServer& proxy, const ServerUrl& server,
                        absl::Time deadline);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_PROXY_H_
