#ifndef MUSTER_OPERATOR_WEB_BOUNDED_SERVER_H_
#define MUSTER_OPERATOR_WEB_BOUNDED_SERVER_H_

#include <cstddef>

#include "absl/time/time.h"
#include "httplib.h"

namespace muster::control {

// Of one client.
struct ConnectionLimits {
  // From the first byte of a request to the last of its answer, however steadily bytes drip.
  absl::Duration request = absl::Seconds(10);
  // Between requests.
  absl::Duration idle = absl::Seconds(2);
  // Of one request: its line, headers, body.
  size_t request_bytes = size_t{128} << 10;
  int requests = 100;
};

// An HTTP server that no client can hold for long: the library bounds each read and each line, this
// bounds the whole request. What goes beyond is cut off. Its pool of threads serves one connection
// each, so a client waits at most limits.request times the clients before it.
class BoundedServer final : public httplib::Server {
 public:
  explicit BoundedServer(ConnectionLimits limits) : limits_(limits) {}

 private:
  bool process_and_close_socket(socket_t socket) override;

  const ConnectionLimits limits_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_BOUNDED_SERVER_H_
