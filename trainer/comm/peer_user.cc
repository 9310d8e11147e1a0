#include "trainer/comm/peer_user.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/unique_fd.h"

namespace muster::trainer {
namespace {

// A machine with more connections than this holds is not asked.
constexpr size_t kMaxTable = size_t{64} << 20;

bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
  }
  if (address.ss_family != AF_INET6) return false;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

// Writes an address as the kernel's table does.
std::string InTable(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return absl::StrFormat("%08X:%04X", v4.sin_addr.s_addr, ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  uint32_t words[4];
  std::memcpy(words, &v6.sin6_addr, sizeof(words));
  return absl::StrFormat("%08X%08X%08X%08X:%04X", words[0], words[1], words[2], words[3],
                         ntohs(v6.sin6_port));
}

// Files of /proc have no size that could be asked for.
std::string ReadTable(const char* path) {
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[65536];
  ssize_t n = 0;
  while (fd.get() >= 0 && text.size() < kMaxTable &&
         (n = read(fd.get(), buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

}  // namespace

std::optional<uid_t> UserInTable(std::string_view table, const sockaddr_storage& local,
                                 const sockaddr_storage& remote) {
  const std::string from = InTable(local), to = InTable(remote);
  const absl::string_view text(table.data(), table.size());
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.find(from) == absl::string_view::npos) continue;
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    uint32_t user = 0;
    if (fields.size() > 7 && fields[1] == from && fields[2] == to &&
        absl::SimpleAtoi(fields[7], &user)) {
      return user;
    }
  }
  return std::nullopt;
}

std::optional<uid_t> UserOfLoopbackPeer(int fd) {
  sockaddr_storage own = {}, peer = {};
  socklen_t size = sizeof(own);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) return std::nullopt;
  size = sizeof(peer);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return std::nullopt;
  if (!IsLoopback(own) || !IsLoopback(peer)) return std::nullopt;
  const bool v4 = own.ss_family == AF_INET;
  return UserInTable(ReadTable(v4 ? "/proc/self/net/tcp" : "/proc/self/net/tcp6"), peer, own);
}

bool MayBeOwnUser(int fd) { return UserOfLoopbackPeer(fd).value_or(geteuid()) == geteuid(); }

}  // namespace muster::trainer
