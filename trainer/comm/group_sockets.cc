#include "trainer/comm/group_sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>

namespace muster::trainer {
namespace {

int PortOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return 0;
}

std::optional<uint64_t> SocketInode(int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode)) return std::nullopt;
  return info.st_ino;
}

std::optional<ConnectedSocket> Inspect(int fd) {
  const std::optional<uint64_t> inode = SocketInode(fd);
  if (!inode) return std::nullopt;
  sockaddr_storage local = {}, peer = {};
  socklen_t size = sizeof(local);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size) != 0) return std::nullopt;
  size = sizeof(peer);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return std::nullopt;
  if (PortOf(local) == 0) return std::nullopt;  // not TCP: the link to the agent, for one
  return ConnectedSocket{fd, *inode, PortOf(local), PortOf(peer)};
}

}  // namespace

std::set<ConnectedSocket> FindConnectedSockets() {
  std::set<ConnectedSocket> sockets;
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return sockets;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    if (auto socket = Inspect(std::atoi(entry->d_name))) sockets.insert(*socket);
  }
  closedir(directory);
  return sockets;
}

std::set<ConnectedSocket> NewSockets(const std::set<ConnectedSocket>& before,
                                     const std::set<ConnectedSocket>& now) {
  std::set<ConnectedSocket> fresh;
  std::set_difference(now.begin(), now.end(), before.begin(), before.end(),
                      std::inserter(fresh, fresh.end()));
  return fresh;
}

void ShutDown(const std::set<ConnectedSocket>& sockets) {
  for (const ConnectedSocket& socket : sockets) {
    if (SocketInode(socket.fd) == socket.inode) shutdown(socket.fd, SHUT_RDWR);
  }
}

}  // namespace muster::trainer
