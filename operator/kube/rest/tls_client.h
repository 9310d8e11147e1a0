#ifndef MUSTER_OPERATOR_KUBE_REST_TLS_CLIENT_H_
#define MUSTER_OPERATOR_KUBE_REST_TLS_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "httplib.h"
#include "operator/kube/credentials/credentials.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/http/http_exchange.h"
#include "operator/kube/http/server_url.h"

namespace muster::kube {

// Returns a client for one HTTP/1.1 connection to an API server, not yet connected. It will use any
// of the server's addresses, or `config.proxy`, and TLS 1.2 or later, trusting `ca` alone (or the
// machine's roots if there is none). OpenSSL checks the certificate for `config.tls_server_name`,
// or else for the host, a name or an address. kInvalidArgument names the part of the credentials or
// of the proxy that cannot be read.
absl::StatusOr<std::unique_ptr<httplib::SSLClient>> MakeTlsClient(const RestConfig& config,
                                                                  const ServerUrl& server,
                                                                  const Credentials& credentials);

// Limits connecting, and each single wait while reading and writing.
void SetTimeouts(httplib::SSLClient& client, absl::Duration connect, absl::Duration transfer);

// Bounds every wait of the next request (Monotonic), however slowly its answer arrives.
void SetDeadline(httplib::SSLClient& client, absl::Time deadline);

// Calls BufferedTlsClient::Exchange.
bool Exchange(httplib::SSLClient& client, const std::function<HttpRequest()>& request,
              HttpAnswer& answer, httplib::Error& error);

// Explains to a person why there was no connection; empty if `error` is not about connecting.
std::string ConnectFailure(const httplib::SSLClient& client, httplib::Error error);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_TLS_CLIENT_H_
