#ifndef MUSTER_OPERATOR_KUBE_HTTP_DIALER_H_
#define MUSTER_OPERATOR_KUBE_HTTP_DIALER_H_

#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::kube {

// One of those that a name stands for.
struct SocketAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
};

// All addresses of `host`, a name or an address itself, in the order in which they are to be tried.
// The system's resolver has limits of its own and is not cut short.
absl::StatusOr<std::vector<SocketAddress>> ResolveHost(const std::string& host, int port);

// A TCP connection to the first of `addresses` that takes one. Each is tried a quarter of a second
// after the one before, or as soon as that has failed (RFC 8305, 5), so that one that is silent
// does not use up the time of the others. Keeps alive; a peer that is gone is noticed within half a
// minute. kUnavailable when none takes it, kDeadlineExceeded when none did by `deadline`
// (Monotonic).
absl::StatusOr<int> DialAny(const std::vector<SocketAddress>& addresses, absl::Time deadline);

// Waits until `socket` can be read or written (POLLIN, POLLOUT); false when `deadline` was first.
bool WaitForSocket(int socket, short what, absl::Time deadline);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_DIALER_H_
