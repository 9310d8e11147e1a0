#ifndef MUSTER_OPERATOR_WEB_WEB_SERVER_H_
#define MUSTER_OPERATOR_WEB_WEB_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"

namespace muster::control {

// What the HTTP server shows and does; every function is called from its threads.
struct WebHooks {
  // OK once caches have synced, else why not.
  std::function<absl::Status()> ready;
  // The text of /metrics.
  std::function<std::string()> metrics;
  // {"items": [...]}.
  std::function<absl::StatusOr<Json>()> jobs;
  // One job with its agents, rounds and the steps after `since`. NotFound.
  std::function<absl::StatusOr<Json>(const std::string& ns, const std::string& name, int64_t since)>
      job;
  // "stop", "resume" or "save". FailedPrecondition says why not.
  std::function<absl::Status(const std::string& ns, const std::string& name,
                             const std::string& action)>
      act;
  // What the operator believes, for debugging.
  std::function<Json()> debug_state;
};

// /metrics, /healthz, /readyz, /debug/state and the JSON API below /api/v1/jobs. No authentication:
// bind it to loopback or keep it behind something that has. Errors are {"error": sentence}. Bodies
// are bounded at 64 KiB. Start and Stop from one thread.
class WebServer {
 public:
  explicit WebServer(WebHooks hooks);
  ~WebServer();

  // `address` is host:port; port 0 takes a free one. Returns host:port as bound. Unavailable when
  // the port is taken.
  absl::StatusOr<std::string> Start(const std::string& address);
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_WEB_SERVER_H_
