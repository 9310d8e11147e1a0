#ifndef MUSTER_OPERATOR_WEB_WEB_SERVER_H_
#define MUSTER_OPERATOR_WEB_WEB_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operator/web/web_deps.h"

namespace muster::control {

// The operator's HTTP server:
//
//   GET  /metrics                         OpenMetrics or the Prometheus text format, by Accept
//   GET  /healthz /livez /readyz[?verbose]
//   GET  /debug/state[?job=<namespace>/<name>][?after=KEY&limit=N]
//   GET  /api/v1/jobs
//   GET  /api/v1/jobs/<namespace>/<name>[?since=STEP&limit=N&curve=1]
//   POST /api/v1/jobs/<namespace>/<name>/{stop,resume,save}
//
// Errors are {"error": "...", "code": 4xx}. Bodies are bounded. It has no authentication: it is
// bound to the loopback by default and refuses what a browser sends on behalf of another site.
class WebServer {
 public:
  // `address` is "host:port", port 0 for any free one. kUnavailable when it is taken.
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(const std::string& address, WebDeps deps);
  ~WebServer();

  std::string address() const;  // with the real port
  void Stop();                  // idempotent

 private:
  struct Impl;
  explicit WebServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_WEB_SERVER_H_
