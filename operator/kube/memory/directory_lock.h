#ifndef MUSTER_OPERATOR_KUBE_MEMORY_DIRECTORY_LOCK_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_DIRECTORY_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace muster::kube {

// An exclusive flock on "LOCK" in a directory, held until the object is destroyed or the process
// ends. Child processes do not inherit it. The file contains the holder's process id, for people.
class DirectoryLock {
 public:
  // Returns kUnavailable, with the holder's process id, if another process (or another lock of this
  // process) holds it.
  static absl::StatusOr<std::unique_ptr<DirectoryLock>> Acquire(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  const int fd_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_DIRECTORY_LOCK_H_
