#ifndef MUSTER_BASE_UNIX_SOCKET_H_
#define MUSTER_BASE_UNIX_SOCKET_H_

#include <string>

#include "absl/status/status.h"

namespace muster {

// Addresses of unix sockets: "unix:/absolute/path".
inline constexpr char kUnixPrefix[] = "unix:";
bool IsUnixAddress(const std::string& address);
std::string UnixPath(const std::string& address);

// Makes `folder` with mode 0700 when it is not there. One that is there is never changed: it must
// be a directory of this user that nobody else may enter. PermissionDenied says what it is instead.
absl::Status MakePrivateFolder(const std::string& folder);

// Makes the place for a socket that only this user may use: its folder is private, and a socket
// that a dead process left behind is removed. InvalidArgument: the path is not absolute, too long
// for a socket, or not in a folder of its own. AlreadyExists: a living process answers there,
// called `owner` in the error. Whoever binds it then gives the socket the mode 0600.
absl::Status PrepareSocket(const std::string& path, const std::string& owner);

}  // namespace muster

#endif  // MUSTER_BASE_UNIX_SOCKET_H_
