#ifndef MUSTER_AGENT_WORKER_RANKS_COPIES_FOLDER_H_
#define MUSTER_AGENT_WORKER_RANKS_COPIES_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "base/files/files.h"

namespace muster::agent {

// The folder in memory in which the ranks of this agent keep copies of their state: they outlive
// the ranks' processes, and end with the agent. Its name has the prefix muster-copies-, and the
// agent holds a lock (flock) on it, which the kernel releases however the agent ends: Sweep()
// removes the folders of agents that were killed. Only this user can look into it. Not thread-safe.
class CopiesFolder {
 public:
  // `files` must outlive it. `memory` is a folder of a memory file system, /dev/shm; `name` differs
  // among the agents of the machine.
  CopiesFolder(Files& files, std::string memory, const std::string& name);
  // Removes the folder with all copies.
  ~CopiesFolder();
  CopiesFolder(const CopiesFolder&) = delete;
  CopiesFolder& operator=(const CopiesFolder&) = delete;

  const std::string& path() const { return path_; }
  // Makes the folder; OK if it was made before. Fails as the file system does, and with
  // PermissionDenied if somebody else has made a folder of this name.
  absl::Status Make();
  // Removes this user's folders whose agents have ended. What belongs to other users stays, and
  // what links lead to.
  void Sweep();

 private:
  Files& files_;
  const std::string memory_;
  const std::string path_;
  int lock_ = -1;  // a descriptor of the folder, which holds its lock; -1: not made
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANKS_COPIES_FOLDER_H_
