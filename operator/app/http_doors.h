#ifndef MUSTER_OPERATOR_APP_HTTP_DOORS_H_
#define MUSTER_OPERATOR_APP_HTTP_DOORS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "operator/coordinator/coordinator_identity.h"
#include "operator/kube/api.h"
#include "operator/web/review_gate.h"
#include "operator/web/web_deps.h"
#include "operator/web/web_server.h"

namespace muster::control {

// Where HTTP is served, and to whom.
struct HttpOptions {
  // "unix:/path": for this user alone. "host:port", port 0 for any free one: on a cluster over TLS,
  // to whom the API server knows and allows it; on one machine on its loopback, to who has the
  // token. Empty: nowhere.
  std::string address;
  // A real API server: commands are refused, for they are its callers' own writes.
  bool cluster = false;
  // PEM, read again at each connection; empty: the certificate that agents are served with.
  std::string certificate_file;
  std::string key_file;
  // On one machine and a port: written with a new token, for this user alone.
  std::string token_file;
  // Health alone, plain, host:port; empty: nowhere.
  std::string probe_address;
};

// Whether `options` need the coordinator's certificates.
bool NeedsIdentity(const HttpOptions& options);

// The HTTP servers of an operator. One thread opens and closes it.
class HttpDoors {
 public:
  // `api` reviews callers; `identity` may be null unless NeedsIdentity. They, `clock` and what
  // `deps` names must outlive it. kUnavailable: an address is taken. kInvalidArgument: the options
  // do not go together.
  static absl::StatusOr<std::unique_ptr<HttpDoors>> Open(const HttpOptions& options, WebDeps deps,
                                                         kube::Api& api, const Clock& clock,
                                                         CoordinatorIdentity* identity);

  // With the real port; empty without one.
  std::string address() const { return pages_ == nullptr ? "" : pages_->address(); }
  std::string probe_address() const { return probes_ == nullptr ? "" : probes_->address(); }
  void Close();

 private:
  HttpDoors(kube::Api& api, const Clock& clock) : reviews_(api, clock) {}

  ReviewGate reviews_;
  std::unique_ptr<WebServer> pages_;   // null: none
  std::unique_ptr<WebServer> probes_;  // likewise
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_HTTP_DOORS_H_
