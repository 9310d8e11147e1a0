#ifndef MUSTER_OPERATOR_WEB_HTTP_LISTENER_H_
#define MUSTER_OPERATOR_WEB_HTTP_LISTENER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::control {

// host:port taken apart; a host in brackets is IPv6.
struct TcpAddress {
  std::string host;
  int port = 0;
};
absl::StatusOr<TcpAddress> ParseTcpAddress(const std::string& address);

// Whether only processes of this machine reach it.
bool IsLoopback(const std::string& host);

// A listening socket that does not block.
struct Listener {
  int fd = -1;
  std::string address;  // with the real port
  bool is_unix = false;
};

// `address` is "host:port", port 0 for any free one, or "unix:/path" in a folder that is private to
// this user: such a socket has mode 0600. kUnavailable: it is taken; kInvalidArgument: it is none.
absl::StatusOr<Listener> Listen(const std::string& address);

// An accepted connection, not blocking; fd below zero: none waits, or errno says why not. `peer` is
// the other side's address without its port, "unix" over a socket. Processes of other users are
// refused there whatever the socket's mode has become.
struct Accepted {
  int fd = -1;
  std::string peer;
};
Accepted Accept(const Listener& listener);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_HTTP_LISTENER_H_
