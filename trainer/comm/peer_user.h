#ifndef MUSTER_TRAINER_COMM_PEER_USER_H_
#define MUSTER_TRAINER_COMM_PEER_USER_H_

#include <sys/socket.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace muster::trainer {

// Returns the user whose process has the other end of a TCP connection over the loopback interface,
// as /proc/net/tcp tells; absent for other connections, and where it does not tell.
std::optional<uid_t> UserOfLoopbackPeer(int fd);

// Returns true unless it is known that the other end is another user's.
bool MayBeOwnUser(int fd);

// Returns the user of the socket with these addresses in the text of /proc/net/tcp or tcp6. Pure.
std::optional<uid_t> UserInTable(std::string_view table, const sockaddr_storage& local,
                                 const sockaddr_storage& remote);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_PEER_USER_H_
