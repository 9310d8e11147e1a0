#include "agent/replicas/copies_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/core/copies_layout.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/status_macros.h"

namespace muster::agent {

absl::StatusOr<CopiesWatch> CopiesWatch::Make(Files& files, const std::string& folder, int ranks) {
  UniqueFd fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (fd.get() < 0) return absl::ErrnoToStatus(errno, "inotify");
  CopiesWatch watch(files, folder, std::move(fd));
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string path = CopiesOfRank(folder, rank);
    MUSTER_RETURN_IF_ERROR(files.MakeDirectories(path));
    // A copy is complete when it is renamed to its name.
    const int id = inotify_add_watch(watch.fd_.get(), path.c_str(), IN_MOVED_TO | IN_ONLYDIR);
    if (id < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be watched"));
    watch.ranks_[id] = rank;
  }
  return watch;
}

CopiesWatch::CopiesWatch(Files& files, std::string folder, UniqueFd fd)
    : files_(files), folder_(std::move(folder)), fd_(std::move(fd)) {}

std::vector<CompletedCopy> CopiesWatch::Take() {
  std::vector<CompletedCopy> completed;
  alignas(inotify_event) char buffer[4096];
  while (true) {
    const ssize_t size = read(fd_.get(), buffer, sizeof(buffer));
    if (size <= 0) return completed;
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof(event));
      const std::string name = event.len > 0 ? buffer + at + sizeof(event) : "";
      at += static_cast<ssize_t>(sizeof(event) + event.len);
      const auto rank = ranks_.find(event.wd);
      if (rank == ranks_.end() || StepOfCheckpointName(name) < 0) continue;
      completed.push_back({rank->second, JoinPath(CopiesOfRank(folder_, rank->second), name)});
    }
  }
}

std::optional<CompletedCopy> CopiesWatch::Newest(int local_rank) const {
  const std::string folder = CopiesOfRank(folder_, local_rank);
  const auto entries = files_.List(folder);
  if (!entries.ok()) return std::nullopt;
  std::optional<CompletedCopy> newest;
  int64_t newest_step = -1;
  for (const DirectoryEntry& entry : *entries) {
    const int64_t step = StepOfCheckpointName(entry.name);
    if (step <= newest_step) continue;
    newest_step = step;
    newest = CompletedCopy{local_rank, JoinPath(folder, entry.name)};
  }
  return newest;
}

}  // namespace muster::agent
