#ifndef MUSTER_OPERATOR_KUBE_MEMORY_DIRECTORY_LOCK_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_DIRECTORY_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace muster::kube {

// An exclusive flock on "LOCK" in a directory, held until destroyed or the process ends. Children
// do not inherit it. The file holds the holder's process id, for people.
class DirectoryLock {
 public:
  // kUnavailable when another process (or another lock here) holds it, with its process id.
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
