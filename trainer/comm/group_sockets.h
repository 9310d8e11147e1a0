#ifndef MUSTER_TRAINER_COMM_GROUP_SOCKETS_H_
#define MUSTER_TRAINER_COMM_GROUP_SOCKETS_H_

#include <compare>
#include <cstdint>
#include <set>

namespace muster::trainer {

// A connected TCP socket of this process. The inode tells whether the descriptor was closed and
// used again for something else.
struct ConnectedSocket {
  int fd = -1;
  uint64_t inode = 0;
  int local_port = 0;
  int peer_port = 0;

  auto operator<=>(const ConnectedSocket&) const = default;
};

// Gloo has no way to cancel what waits for a peer; shutting its sockets down makes every such wait
// end at once, on this rank and on its peers. Which sockets are a group's is found by looking at
// the process before and after the group was made. All are thread-safe.
std::set<ConnectedSocket> FindConnectedSockets();

// Sockets of `now` that were not in `before`.
std::set<ConnectedSocket> NewSockets(const std::set<ConnectedSocket>& before,
                                     const std::set<ConnectedSocket>& now);

// Shuts both directions down; a descriptor that means another file by now is left alone.
void ShutDown(const std::set<ConnectedSocket>& sockets);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_GROUP_SOCKETS_H_
