#ifndef MUSTER_OPERATOR_KUBE_TLS_CLIENT_H_
#define MUSTER_OPERATOR_KUBE_TLS_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "httplib.h"
#include "operator/kube/credentials.h"
#include "operator/kube/http_exchange.h"
#include "operator/kube/server_url.h"

namespace muster::kube {

// One HTTP/1.1 connection to an API server, not yet made: TLS 1.2 or later, trusting `ca` alone (or
// the machine's roots when there is none), the certificate checked by OpenSSL for `tls_server_name`
// or else the host, name or address. Keeps alive; a peer that is gone is noticed within half a
// minute. kInvalidArgument names what of the credentials cannot be read.
absl::StatusOr<std::unique_ptr<httplib::SSLClient>> MakeTlsClient(
    const ServerUrl& server, const std::string& tls_server_name, const Credentials& credentials);

// The same limit for connecting, reading and writing, each time they wait.
void SetTimeouts(httplib::SSLClient& client, absl::Duration connect, absl::Duration transfer);

// No wait of the next request goes on beyond it (Monotonic), however slowly its answer comes.
void SetDeadline(httplib::SSLClient& client, absl::Time deadline);

// One call (BufferedTlsClient::Exchange).
bool Exchange(httplib::SSLClient& client, const HttpRequest& request, HttpAnswer& answer,
              httplib::Error& error);

// Why there was no connection, for people; empty when `error` is not about connecting.
std::string ConnectFailure(const httplib::SSLClient& client, httplib::Error error);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_TLS_CLIENT_H_
