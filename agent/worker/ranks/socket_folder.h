#ifndef MUSTER_AGENT_WORKER_RANKS_SOCKET_FOLDER_H_
#define MUSTER_AGENT_WORKER_RANKS_SOCKET_FOLDER_H_

#include <string>

namespace muster::agent {

// A folder for the sockets of a worker's ranks, which only this user may enter. The path of a
// socket has at most 107 bytes.
class SocketFolder {
 public:
  // Uses `preferred`, which must be private, if it is absolute and short enough. Otherwise makes a
  // folder in `temporary`, or in /tmp if that is empty, and removes it in the end.
  SocketFolder(const std::string& preferred, const std::string& temporary);
  ~SocketFolder();
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;

  // Empty if no folder could be made, as on a read-only file system; the reason is in the log.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANKS_SOCKET_FOLDER_H_
