#ifndef MUSTER_OPERATOR_KUBE_HTTP_DIALER_H_
#define MUSTER_OPERATOR_KUBE_HTTP_DIALER_H_

#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::kube {

// One of the addresses of a host.
struct SocketAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
};

// Returns all addresses of `host`, a name or an address literal, in the order in which to try them.
// The system's resolver has its own time limits and is not interrupted.
absl::StatusOr<std::vector<SocketAddress>> ResolveHost(const std::string& host, int port);

// Returns a TCP connection to the first of `addresses` that accepts one. Each attempt starts a
// quarter of a second after the one before, or as soon as that has failed (RFC 8305, 5), so that an
// address that does not answer does not use up the time of the others. The socket has TCP
// keep-alive on; a dead peer is noticed within half a minute. kUnavailable if no address accepts,
// kDeadlineExceeded if none did by `deadline` (Monotonic).
absl::StatusOr<int> DialAny(const std::vector<SocketAddress>& addresses, absl::Time deadline);

// Waits until `socket` can be read or written (POLLIN, POLLOUT). Returns false if `deadline` came
// first.
bool WaitForSocket(int socket, short what, absl::Time deadline);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_DIALER_H_
