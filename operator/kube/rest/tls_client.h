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

// Returns a client, not yet connected, for one HTTP/1.1 connection to an API server. It connects to
// any of the server's addresses, or through `config.proxy`, with TLS 1.2 or later. It trusts only
// `credentials.ca`, or the machine's roots if that is empty, and requires a certificate for
// `config.tls_server_name`, or, if that is empty, for the server's host name or IP address.
// kInvalidArgument names the part of the credentials or of the proxy that cannot be read.
absl::StatusOr<std::unique_ptr<httplib::SSLClient>> MakeTlsClient(const RestConfig& config,
                                                                  const ServerUrl& server,
                                                                  const Credentials& credentials);

// Bounds connecting by `connect`, and each single wait in reading or writing by `transfer`.
void SetTimeouts(httplib::SSLClient& client, absl::Duration connect, absl::Duration transfer);

// Sets the time (Monotonic) by which the next request must end, however slowly its answer arrives.
void SetDeadline(httplib::SSLClient& client, absl::Time deadline);

// Calls BufferedTlsClient::Exchange; `client` must come from MakeTlsClient.
bool Exchange(httplib::SSLClient& client, const std::function<HttpRequest()>& request,
              HttpAnswer& answer, httplib::Error& error);

// Returns why no connection was made, in words for users; empty if `error` is not about connecting.
std::string ConnectFailure(const httplib::SSLClient& client, httplib::Error error);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_TLS_CLIENT_H_
