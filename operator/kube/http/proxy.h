#ifndef MUSTER_OPERATOR_KUBE_HTTP_PROXY_H_
#define MUSTER_OPERATOR_KUBE_HTTP_PROXY_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "operator/kube/http/server_url.h"

// Connects to an API server through an HTTP proxy. The proxy passes on a connection (CONNECT); TLS
// is end-to-end between client and server, so the proxy sees no plaintext.
namespace muster::kube {

struct ProxyServer {
  std::string host;
  int port = 80;
  std::string authorization;  // the Proxy-Authorization header, a secret; empty: none
};

// Parses "http://[user:password@]host[:port]". Anything else is kInvalidArgument, with a message
// that does not contain user or password.
absl::StatusOr<ProxyServer> ParseProxyUrl(std::string_view url);

// Returns the URL of the proxy that the environment names for `server`, or "" for none, by the
// rules of Go and so of Kubernetes' programs. HTTPS_PROXY names the proxy. NO_PROXY lists servers
// to reach directly: "*", names including their subdomains, names that begin with a dot (subdomains
// only), addresses and address ranges, each with or without a port. Servers on this machine are
// reached directly, too.
std::string ProxyFromEnvironment(const ServerUrl& server,
                                 const std::function<std::string(const std::string&)>& environment);

// Asks the proxy at the other end of `socket` for a tunnel to `server`.
absl::Status OpenTunnel(int socket, const ProxyServer& proxy, const ServerUrl& server,
                        absl::Time deadline);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_PROXY_H_
