#include "base/net/unix_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace muster {
namespace {

// Refuses a socket that a living process answers on.
absl::Status ClearSocket(const std::string& path, const std::string& owner) {
  MUSTER_ASSIGN_OR_RETURN(const sockaddr_un address, UnixSocketAddress(path));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot make a socket");
  const int rc = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  ::close(fd);
  if (rc == 0) {
    return absl::AlreadyExistsError(absl::StrCat("another ", owner, " answers on ", path));
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove the stale socket ", path));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsUnixAddress(const std::string& address) { return absl::StartsWith(address, kUnixPrefix); }

std::string UnixPath(const std::string& address) {
  return address.substr(std::strlen(kUnixPrefix));
}

absl::StatusOr<sockaddr_un> UnixSocketAddress(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("the socket's path ", path, " is longer than ",
                                                   sizeof(address.sun_path) - 1, " bytes"));
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

absl::Status MakePrivateFolder(const std::string& folder) {
  // The umask cannot widen this mode, and a folder made here belongs to this user.
  if (::mkdir(folder.c_str(), 0700) == 0) return absl::OkStatus();
  if (errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make the folder ", folder));
  }
  struct stat info;
  if (::lstat(folder.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot look at ", folder));
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(folder, " must be a folder that belongs to this user"));
  }
  if ((info.st_mode & 0077) != 0) {
    return absl::PermissionDeniedError(absl::StrFormat(
        "%s has mode %04o, which lets other users enter it: name a folder that does not exist "
        "yet, or one of mode 0700",
        folder, info.st_mode & 07777));
  }
  return absl::OkStatus();
}

absl::Status PrepareSocket(const std::string& path, const std::string& owner) {
  const size_t slash = path.rfind('/');
  if (path.empty() || path[0] != '/' || slash == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the socket's path must be absolute and in a folder of its own, not ", path));
  }
  MUSTER_RETURN_IF_ERROR(MakePrivateFolder(path.substr(0, slash)));
  return ClearSocket(path, owner);
}

}  // namespace muster
