#ifndef MUSTER_AGENT_REPLICAS_COPIES_WATCH_H_
#define MUSTER_AGENT_REPLICAS_COPIES_WATCH_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "base/unique_fd.h"

namespace muster::agent {

// A copy that a rank of this worker has completed.
struct CompletedCopy {
  int local_rank = 0;
  std::string path;
};

// Watches the folders in which the ranks complete their copies (inotify). Not thread-safe.
class CopiesWatch {
 public:
  // `files` must outlive it. The ranks' folders are `folder`/rank-N; they are made if they are not
  // there. Fails as the file system does.
  static absl::StatusOr<CopiesWatch> Make(Files& files, const std::string& folder, int ranks);

  // Readable when Take() has something to return.
  int fd() const { return fd_.get(); }
  // Returns the copies completed since the last call, the oldest first. Never blocks.
  std::vector<CompletedCopy> Take();
  // Returns the newest complete copy of the rank that is there now.
  std::optional<CompletedCopy> Newest(int local_rank) const;

 private:
  CopiesWatch(Files& files, std::string folder, UniqueFd fd);

  Files& files_;
  std::string folder_;
  UniqueFd fd_;
  std::map<int, int> ranks_;  // by inotify's watch
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_COPIES_WATCH_H_
