#include "base/testing/reserved_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster {

absl::StatusOr<ReservedPort> ReservedPort::Reserve() {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  const int on = 1;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(fd.get(), generic, size) != 0 || getsockname(fd.get(), generic, &size) != 0) {
    return absl::UnavailableError(
        absl::StrCat("no TCP port of 127.0.0.1 can be reserved, errno ", errno));
  }
  return ReservedPort(std::move(fd), ntohs(address.sin_port));
}

std::string ReservedPort::address() const { return absl::StrCat("127.0.0.1:", number_); }

}  // namespace muster
