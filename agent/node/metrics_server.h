#ifndef MUSTER_AGENT_NODE_METRICS_SERVER_H_
#define MUSTER_AGENT_NODE_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::agent {

// Returns the HTTP/1.1 response to a request's head, which ends with an empty line: GET or HEAD of
// /metrics, whose body is `page`() (null: there is no such page), or of /healthz. Anything else
// gets an error's status. Pure but for `page`.
std::string RespondTo(absl::string_view head, const std::function<std::string()>& page);

// Serves /metrics and /healthz over plain HTTP, one response a connection, on one thread of its own
// that no client can hold up. There is no gate, because a node agent has no rights with which it
// could ask the API server about a caller: so metrics are served on the loopback interface, unless
// the administrator opens them, and others get /healthz alone. Destroying it ends the thread.
class MetricsServer {
 public:
  // Others wait in the kernel's queue.
  static constexpr size_t kMaxConnections = 16;
  static constexpr size_t kMaxHeadBytes = 8192;

  // `address` is IPV4:PORT, with port 0 for any free one. `page` is called by the server's thread.
  // kInvalidArgument for another text, kUnavailable if the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& address,
                                                              std::function<std::string()> page);
  ~MetricsServer();

  // Returns IPV4:PORT with the actual port.
  const std::string& address() const { return address_; }

 private:
  class Loop;
  MetricsServer(std::unique_ptr<Loop> loop, std::string address);
  std::unique_ptr<Loop> loop_;
  std::string address_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_METRICS_SERVER_H_
