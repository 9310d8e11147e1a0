#ifndef MUSTER_OPERATOR_WEB_HTTP_LISTENER_H_
#define MUSTER_OPERATOR_WEB_HTTP_LISTENER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::control {

// The parts of "host:port". A host in brackets is IPv6.
struct TcpAddress {
  std::string host;
  int port = 0;
};
absl::StatusOr<TcpAddress> ParseTcpAddress(const std::string& address);

// Returns true if only processes on this machine can reach `host`.
bool IsLoopback(const std::string& host);

// A non-blocking listening socket.
struct Listener {
  int fd = -1;
  std::string address;  // with the real port
  bool is_unix = false;
};

// Listens on `address`: "host:port", with port 0 for any free one, or "unix:/path" in a folder that
// is private to this user; the socket then has mode 0600. kUnavailable if the address is taken,
// kInvalidArgument if it is malformed.
absl::StatusOr<Listener> Listen(const std::string& address);

// An accepted non-blocking connection. A negative fd means that none is waiting, or that errno has
// the reason. `peer` is the peer's address without its port, or "unix". Over a Unix socket,
// processes of other users are rejected, even if the socket's mode was changed.
struct Accepted {
  int fd = -1;
  std::string peer;
};
Accepted Accept(const Listener& listener);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_HTTP_LISTENER_H_
