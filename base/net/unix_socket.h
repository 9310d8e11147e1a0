#ifndef MUSTER_BASE_NET_UNIX_SOCKET_H_
#define MUSTER_BASE_NET_UNIX_SOCKET_H_

#include <sys/un.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster {

// Addresses of unix sockets: "unix:/absolute/path".
inline constexpr char kUnixPrefix[] = "unix:";
bool IsUnixAddress(const std::string& address);
std::string UnixPath(const std::string& address);

// InvalidArgument: `path` is too long for a socket.
absl::StatusOr<sockaddr_un> UnixSocketAddress(const std::string& path);

// Makes `folder` with mode 0700 if it does not exist. An existing one is never changed: it must be
// a directory that belongs to this user and is closed to all others, else PermissionDenied with the
// reason.
absl::Status MakePrivateFolder(const std::string& folder);

// Prepares the path of a socket that only this user may use: makes its folder private, and removes
// a socket that a dead process left behind. InvalidArgument: the path is not absolute, is too long
// for a socket, or is not in a folder of its own. AlreadyExists: a living process, called `owner`
// in the error, answers there. The caller gives the bound socket the mode 0600.
absl::Status PrepareSocket(const std::string& path, const std::string& owner);

}  // namespace muster

#endif  // MUSTER_BASE_NET_UNIX_SOCKET_H_
