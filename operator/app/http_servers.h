#ifndef MUSTER_OPERATOR_APP_HTTP_SERVERS_H_
#define MUSTER_OPERATOR_APP_HTTP_SERVERS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "operator/coordinator/identity/coordinator_identity.h"
#include "operator/kube/api.h"
#include "operator/web/review_gate.h"
#include "operator/web/web_deps.h"
#include "operator/web/web_server.h"

namespace muster::control {

// The addresses of the HTTP servers, and the ways callers authenticate.
struct HttpOptions {
  // "unix:/path": for this user alone. "host:port", with port 0 for any free one: on a cluster over
  // TLS, for callers that the API server authenticates and authorizes; on one machine on its
  // loopback, for callers with the token. Empty: no server.
  std::string address;
  // True with a real API server: commands are refused, since callers write to it themselves.
  bool cluster = false;
  // PEM, read again at each connection; if empty, the certificate that agents see is used.
  std::string certificate_file;
  std::string key_file;
  // Used for a port on one machine: a new token is written to it, readable by this user alone.
  std::string token_file;
  // host:port of a plain HTTP server for health alone; empty: none.
  std::string probe_address;
};

// Returns true if `options` need the coordinator's certificates.
bool NeedsIdentity(const HttpOptions& options);

// The HTTP servers of an operator. Open and Close are called by one thread.
class HttpServers {
 public:
  // `api` reviews callers; `identity` may be null unless NeedsIdentity. They, `clock` and
  // everything that `deps` refers to must outlive it. kUnavailable: an address is in use.
  // kInvalidArgument: the options contradict each other.
  static absl::StatusOr<std::unique_ptr<HttpServers>> Open(const HttpOptions& options, WebDeps deps,
                                                           kube::Api& api, const Clock& clock,
                                                           CoordinatorIdentity* identity);

  // The address with its actual port; empty if there is no server.
  std::string address() const { return pages_ == nullptr ? "" : pages_->address(); }
  std::string probe_address() const { return probes_ == nullptr ? "" : probes_->address(); }
  void Close();

 private:
  HttpServers(kube::Api& api, const Clock& clock) : reviews_(api, clock) {}

  ReviewGate reviews_;
  std::unique_ptr<WebServer> pages_;   // null: not served
  std::unique_ptr<WebServer> probes_;  // null: not served
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_HTTP_SERVERS_H_
