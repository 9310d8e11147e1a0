#include "agent/worker/ranks/copies_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace muster::agent {
namespace {

constexpr char kPrefix[] = "muster-copies-";

UniqueFd OpenFolder(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Returns OK if this user owns the folder and no other one has access. A user who made a folder of
// this name first could otherwise read the copies, or change them.
absl::Status CheckPrivate(int fd, const std::string& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": no status"));
  if (info.st_uid == geteuid() && (info.st_mode & 0077) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(path, ": was made by another user, or lets others in; remove it"));
}

// Returns true if `fd` is the folder that has this path now.
bool IsThere(int fd, const std::string& path) {
  struct stat held, named;
  return fstat(fd, &held) == 0 && stat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

}  // namespace

CopiesFolder::CopiesFolder(Files& files, std::string memory, const std::string& name)
    : files_(files), memory_(std::move(memory)), path_(JoinPath(memory_, kPrefix + name)) {}

CopiesFolder::~CopiesFolder() {
  if (lock_ < 0) return;
  const absl::Status removed = RemoveAll(files_, path_);
  if (!removed.ok()) MUSTER_LOG(WARN, "copies in memory stay behind", {"error", removed});
  close(lock_);
}

absl::Status CopiesFolder::Make() {
  while (lock_ < 0) {
    if (mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
      return absl::ErrnoToStatus(errno, absl::StrCat(path_, ": cannot be made"));
    }
    UniqueFd fd = OpenFolder(path_);
    if (fd.get() < 0 && errno == ENOENT) continue;  // swept before it was locked
    if (fd.get() < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path_, ": cannot be opened"));
    MUSTER_RETURN_IF_ERROR(CheckPrivate(fd.get(), path_));
    if (flock(fd.get(), LOCK_EX) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat(path_, ": cannot be locked"));
    }
    if (IsThere(fd.get(), path_)) lock_ = fd.Release();
  }
  return absl::OkStatus();
}

void CopiesFolder::Sweep() {
  const auto entries = files_.List(memory_);
  if (!entries.ok()) return;  // a machine without such memory has no copies
  for (const DirectoryEntry& entry : *entries) {
    const std::string path = JoinPath(memory_, entry.name);
    if (!absl::StartsWith(entry.name, kPrefix) || path == path_) continue;
    const UniqueFd fd = OpenFolder(path);
    if (fd.get() < 0 || flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
    const absl::Status removed = RemoveAllOfThisUser(files_, path);
    if (removed.ok()) MUSTER_LOG(INFO, "removed copies of an agent that has ended", {"path", path});
  }
}

}  // namespace muster::agent
