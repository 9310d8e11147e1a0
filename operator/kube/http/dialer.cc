#include "operator/kube/http/dialer.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"

namespace muster::kube {
namespace {

constexpr absl::Duration kStagger = absl::Milliseconds(250);

// Converts a wait for poll(), rounded up so that it does not end too early.
int Milliseconds(absl::Duration wait) {
  return static_cast<int>(
             absl::ToInt64Milliseconds(std::min(wait, absl::Duration(absl::Hours(1))))) +
         1;
}

void SetOptions(int socket) {
  const auto set = [socket](int level, int name, int value) {
    setsockopt(socket, level, name, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

// The connection attempts in progress.
class Attempts {
 public:
  Attempts() = default;
  ~Attempts() {
    for (const pollfd& attempt : sockets_) close(attempt.fd);
  }
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;

  bool empty() const { return sockets_.empty(); }

  // Starts an attempt, unless connecting fails at once.
  void Begin(const SocketAddress& to) {
    const int made = socket(to.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) return;
    const int connected = connect(made, reinterpret_cast<const sockaddr*>(&to.address), to.size);
    if (connected == 0 || errno == EINPROGRESS) {
      sockets_.push_back({made, POLLOUT, 0});
    } else {
      close(made);
    }
  }

  // Waits until an attempt completes. Returns the connected socket, or -1. Failed attempts are
  // closed and removed.
  int Wait(absl::Duration wait) {
    if (poll(sockets_.data(), sockets_.size(), Milliseconds(wait)) <= 0) return -1;
    for (size_t i = 0; i < sockets_.size(); ++i) {
      if (sockets_[i].revents == 0) continue;
      const int socket = sockets_[i].fd;
      sockets_.erase(sockets_.begin() + static_cast<ptrdiff_t>(i--));
      int error = 0;
      socklen_t size = sizeof(error);
      if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) return socket;
      close(socket);
      failed_ = true;
    }
    return -1;
  }

  // Returns true if an attempt failed since the last call.
  bool TakeFailed() { return std::exchange(failed_, false); }

 private:
  std::vector<pollfd> sockets_;
  bool failed_ = false;
};

}  // namespace

absl::StatusOr<std::vector<SocketAddress>> ResolveHost(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &found);
  if (failed != 0) {
    return absl::UnavailableError(
        absl::StrCat("it cannot be reached: ", host, ": ", gai_strerror(failed)));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    address.size = one->ai_addrlen;
    std::memcpy(&address.address, one->ai_addr, one->ai_addrlen);
  }
  freeaddrinfo(found);
  return addresses;
}

bool WaitForSocket(int socket, short what, absl::Time deadline) {
  while (true) {
    const absl::Duration left = deadline - Clock::Real().Monotonic();
    if (left <= absl::ZeroDuration()) return false;
    pollfd wanted{socket, what, 0};
    const int ready = poll(&wanted, 1, Milliseconds(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

absl::StatusOr<int> DialAny(const std::vector<SocketAddress>& addresses, absl::Time deadline) {
  Attempts attempts;
  size_t begun = 0;
  absl::Time next_at = absl::InfinitePast();
  while (true) {
    const absl::Time now = Clock::Real().Monotonic();
    if (now >= deadline) {
      return absl::DeadlineExceededError("it did not accept a connection in time");
    }
    const bool more = begun < addresses.size();
    if (more && (attempts.empty() || now >= next_at || attempts.TakeFailed())) {
      attempts.Begin(addresses[begun++]);
      next_at = now + kStagger;
      continue;
    }
    if (attempts.empty()) return absl::UnavailableError("it cannot be reached");
    const int socket = attempts.Wait((more ? std::min(next_at, deadline) : deadline) - now);
    if (socket < 0) continue;
    SetOptions(socket);
    fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) & ~O_NONBLOCK);
    return socket;
  }
}

}  // namespace muster::kube
