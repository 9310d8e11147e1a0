#ifndef MUSTER_TRAINER_COMM_GROUP_SOCKETS_H_
#define MUSTER_TRAINER_COMM_GROUP_SOCKETS_H_

#include <compare>
#include <cstdint>
#include <set>

namespace muster::trainer {

// A connected TCP socket of this process. The inode shows whether the descriptor was closed and
// used again for something else.
struct ConnectedSocket {
  int fd = -1;
  uint64_t inode = 0;
  int local_port = 0;
  int peer_port = 0;

  auto operator<=>(const ConnectedSocket&) const = default;
};

// Gloo cannot cancel a wait for a peer. Shutting its sockets down ends every such wait at once, on
// this rank and on its peers. The sockets of a group are those that appear in the process while the
// group is made. All functions are thread-safe.
std::set<ConnectedSocket> FindConnectedSockets();

// Returns the sockets of `now` that are not in `before`.
std::set<ConnectedSocket> NewSockets(const std::set<ConnectedSocket>& before,
                                     const std::set<ConnectedSocket>& now);

// Shuts both directions down. Leaves a descriptor alone that means another file by now.
void ShutDown(const std::set<ConnectedSocket>& sockets);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_GROUP_SOCKETS_H_
