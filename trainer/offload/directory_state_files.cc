#include "trainer/offload/directory_state_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace muster::trainer {
namespace {

constexpr char kPrefix[] = "muster-offload-";
constexpr size_t kMostAtOnce = size_t{1} << 30;  // the kernel takes no more than 2 GiB

absl::Status DiskError(int error, const std::string& directory, const char* what) {
  return absl::UnavailableError(
      absl::ErrnoToStatus(error, absl::StrCat(directory, ": cannot ", what, " offloaded state"))
          .message());
}

class DirectoryStateFile final : public StateFile {
 public:
  DirectoryStateFile(UniqueFd fd, std::string directory, uint64_t size)
      : fd_(std::move(fd)), directory_(std::move(directory)), size_(size) {}

  uint64_t size() const override { return size_; }
  absl::Status Read(uint64_t offset, std::span<std::byte> into) const override {
    MUSTER_RETURN_IF_ERROR(CheckRange(offset, into.size()));
    while (!into.empty()) {
      const ssize_t n = pread(fd_.get(), into.data(), std::min(into.size(), kMostAtOnce),
                              static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return DiskError(n < 0 ? errno : EIO, directory_, "read");
      offset += static_cast<uint64_t>(n);
      into = into.subspan(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }
  absl::Status Write(uint64_t offset, std::span<const std::byte> from) override {
    MUSTER_RETURN_IF_ERROR(CheckRange(offset, from.size()));
    while (!from.empty()) {
      const ssize_t n = pwrite(fd_.get(), from.data(), std::min(from.size(), kMostAtOnce),
                               static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return DiskError(n < 0 ? errno : EIO, directory_, "write");
      offset += static_cast<uint64_t>(n);
      from = from.subspan(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckRange(uint64_t offset, size_t bytes) const {
    if (offset <= size_ && bytes <= size_ - offset) return absl::OkStatus();
    return absl::OutOfRangeError(absl::StrCat(directory_, ": ", bytes, " bytes at ", offset,
                                              " are not within a file of ", size_));
  }

  const UniqueFd fd_;
  const std::string directory_;
  const uint64_t size_;
};

absl::Status NoRoom(const std::string& directory, uint64_t needed, uint64_t available) {
  return absl::ResourceExhaustedError(
      absl::StrCat("trainer.parallelism.offload.directory: ", directory, " has no room: ", needed,
                   " bytes are needed for two generations of a rank's offloaded state, and ",
                   available, " are available: free some, or set another directory"));
}

}  // namespace

// A living rank has no file with a name but for an instant, and then it needs the name no more, so
// any can be removed.
absl::Status DirectoryStateFiles::RemoveLeftovers(const std::string& directory) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files_.List(directory));
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind != FileKind::kFile || !absl::StartsWith(entry.name, kPrefix)) continue;
    const absl::Status removed = files_.Remove(JoinPath(directory, entry.name));
    if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  }
  return absl::OkStatus();
}

absl::StatusOr<int> DirectoryStateFiles::Open(const std::string& directory) const {
  if (unnamed_) {
    const int fd = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    // EISDIR is what a kernel says that does not know such files.
    if (errno != EOPNOTSUPP && errno != EISDIR) return DiskError(errno, directory, "create");
  }
  std::string path = JoinPath(directory, absl::StrCat(kPrefix, std::string(6, 'X')));
  const int fd = mkostemp(path.data(), O_CLOEXEC);  // with the permissions 0600
  if (fd < 0) return DiskError(errno, directory, "create");
  // Another rank that starts may have removed it already.
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    const int error = errno;
    close(fd);
    return DiskError(error, directory, "remove the name of");
  }
  return fd;
}

absl::StatusOr<std::unique_ptr<StateFile>> DirectoryStateFiles::Create(const std::string& directory,
                                                                       uint64_t size) {
  MUSTER_RETURN_IF_ERROR(files_.MakeDirectories(directory));
  MUSTER_RETURN_IF_ERROR(RemoveLeftovers(directory));
  MUSTER_ASSIGN_OR_RETURN(const int descriptor, Open(directory));
  UniqueFd fd(descriptor);
  MUSTER_ASSIGN_OR_RETURN(const uint64_t available, files_.FreeBytes(directory));
  if (available < size) return NoRoom(directory, size, available);
  // Another process may take the room meanwhile.
  const int error = size == 0 ? 0 : posix_fallocate(fd.get(), 0, static_cast<off_t>(size));
  if (error == ENOSPC || error == EDQUOT) return NoRoom(directory, size, available);
  if (error != 0) return DiskError(error, directory, "reserve room for");
  return std::make_unique<DirectoryStateFile>(std::move(fd), directory, size);
}

}  // namespace muster::trainer
