#include "operator/web/http/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/net/unix_socket.h"
#include "base/status_macros.h"

namespace muster::control {
namespace {

constexpr int kBacklog = 256;

absl::Status PortTaken(const std::string& address) {
  return absl::UnavailableError(absl::StrCat("cannot listen for HTTP on ", address,
                                             ": the port may be taken; port 0 chooses a free one"));
}

absl::StatusOr<Listener> ListenUnix(const std::string& address) {
  const std::string path = UnixPath(address);
  MUSTER_RETURN_IF_ERROR(PrepareSocket(path, "operator"));
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot make a socket");
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(fd, kBacklog) != 0) {
    const absl::Status failed =
        absl::ErrnoToStatus(errno, absl::StrCat("cannot listen for HTTP on ", address));
    ::close(fd);
    return failed;
  }
  return Listener{fd, address, true};
}

int Bind(const addrinfo& one) {
  const int fd = ::socket(one.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(fd, one.ai_addr, one.ai_addrlen) == 0 && ::listen(fd, kBacklog) == 0) return fd;
  ::close(fd);
  return -1;
}

int PortOf(int fd) {
  sockaddr_storage name = {};
  socklen_t size = sizeof(name);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&name)->sin6_port
                                          : reinterpret_cast<sockaddr_in*>(&name)->sin_port);
}

bool IsThisUser(int fd) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

}  // namespace

absl::StatusOr<TcpAddress> ParseTcpAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  TcpAddress parsed;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &parsed.port) ||
      parsed.port < 0 || parsed.port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("the HTTP address '", address, "' must be host:port or unix:/path"));
  }
  parsed.host = address.substr(0, colon);
  if (parsed.host.size() > 2 && parsed.host.front() == '[' && parsed.host.back() == ']') {
    parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  }
  return parsed;
}

bool IsLoopback(const std::string& host) {
  in_addr v4 = {};
  // Only complete addresses count: a name may begin like one.
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return host == "localhost" || host == "::1";
}

absl::StatusOr<Listener> Listen(const std::string& address) {
  if (IsUnixAddress(address)) return ListenUnix(address);
  MUSTER_ASSIGN_OR_RETURN(const TcpAddress to, ParseTcpAddress(address));
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(to.host.empty() ? nullptr : to.host.c_str(), absl::StrCat(to.port).c_str(),
                    &hints, &found) != 0) {
    return PortTaken(address);
  }
  int fd = -1;
  for (const addrinfo* one = found; one != nullptr && fd < 0; one = one->ai_next) fd = Bind(*one);
  ::freeaddrinfo(found);
  if (fd < 0) return PortTaken(address);
  return Listener{fd, absl::StrCat(address.substr(0, address.rfind(':')), ":", PortOf(fd)), false};
}

Accepted Accept(const Listener& listener) {
  sockaddr_storage name = {};
  socklen_t size = sizeof(name);
  const int fd = ::accept4(listener.fd, reinterpret_cast<sockaddr*>(&name), &size,
                           SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return {};
  if (listener.is_unix) {
    if (IsThisUser(fd)) return {fd, "unix"};
    ::close(fd);
    errno = EINTR;  // others may wait behind it
    return {};
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  char host[NI_MAXHOST] = "";
  ::getnameinfo(reinterpret_cast<sockaddr*>(&name), size, host, sizeof(host), nullptr, 0,
                NI_NUMERICHOST);
  return {fd, host};
}

}  // namespace muster::control
