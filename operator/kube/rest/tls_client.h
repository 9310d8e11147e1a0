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

// One HTTP/1.1 connection to an API server, not yet made: to any of its addresses, or through
// `config.proxy`; TLS 1.2 or later, trusting `ca` alone (or the machine's roots when there is
// none), the certificate checked by OpenSSL for `config.tls_server_name` or else the host, name or
// address. kInvalidArgument names what of the credentials or the proxy cannot be read.
absl::StatusOr<std::unique_ptr<httplib::SSLClient>> MakeTlsClient(const RestConfig& config,
                                                                  const ServerUrl& server,
                                                                  const Credentials& credentials);

// Limits for connecting, and for each wait while reading and writing.
void SetTimeouts(httplib::SSLClient& client, absl::Duration connect, absl::Duration transfer);

// No wait of the next request goes on beyond it (Monotonic), however slowly its answer comes.
void SetDeadline(httplib::SSLClient& client, absl::Time deadline);

// One call (BufferedTlsClient::Exchange).
bool Exchange(httplib::SSLClient& client, const std::function<HttpRequest()>& request,
              HttpAnswer& answer, httplib::Error& error);

// Why there was no connection, for people; empty when `error` is not about connecting.
std::string ConnectFailure(const httplib::SSLClient& client, httplib::Error error);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_TLS_CLIENT_H_
