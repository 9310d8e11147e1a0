#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/files/files.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace muster {
namespace {

absl::Status ErrnoStatus(int error, const std::string& what, const std::string& path) {
  absl::Status status = absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot ", what));
  const std::string message(status.message());
  switch (error) {
    case ENOTEMPTY:
      return absl::AlreadyExistsError(message);
    case EROFS:
    case EPERM:
      return absl::PermissionDeniedError(message);
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(message);
    default:
      return status;
  }
}

absl::StatusOr<UniqueFd> OpenDescriptor(const std::string& path, int flags,
                                        const std::string& what) {
  int fd;
  do {
    fd = open(path.c_str(), flags | O_CLOEXEC, 0644);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return ErrnoStatus(errno, what, path);
  return UniqueFd(fd);
}

absl::StatusOr<uint64_t> RegularSize(const UniqueFd& fd, const std::string& path) {
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "read", path);
  if (S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": is a directory, not a file"));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": is not a regular file"));
  }
  return static_cast<uint64_t>(info.st_size);
}

// The writing thread writes a long file back as it grows, so that Sync has little left to wait for,
// and the kernel's own flusher, which may run on any core, need not start.
constexpr off_t kWriteBackBytes = off_t{8} << 20;

// A file that is created exclusively is written once and read later, if at all. Beyond these bytes
// it is written past the page cache, whose pages cost several times the processor's time of all
// else in saving a checkpoint, and slow those who compute meanwhile. The bytes are collected in
// aligned memory until a write of them is worth while.
constexpr off_t kCachedBytes = off_t{8} << 20;
constexpr size_t kDirectBytes = size_t{4} << 20;
constexpr size_t kBlockBytes = 4096;

struct Freed {
  void operator()(char* memory) const { std::free(memory); }
};

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(UniqueFd fd, std::string path, off_t end, bool written_once)
      : fd_(std::move(fd)),
        path_(std::move(path)),
        end_(end),
        started_(end),
        waited_(end),
        may_go_direct_(written_once) {}
  ~PosixWritableFile() override { EndDirect().IgnoreError(); }

  absl::Status Append(std::string_view bytes) override {
    while (!bytes.empty()) {
      if (may_go_direct_ && end_ == kCachedBytes) GoDirect();
      size_t most = bytes.size();
      if (direct_ != nullptr) most = kDirectBytes - collected_;
      if (may_go_direct_) most = static_cast<size_t>(kCachedBytes - end_);
      const std::string_view part = bytes.substr(0, most);
      MUSTER_RETURN_IF_ERROR(direct_ != nullptr ? Collect(part) : Write(part));
      bytes.remove_prefix(part.size());
    }
    return end_ - started_ < kWriteBackBytes ? absl::OkStatus() : WriteBack();
  }
  absl::Status Sync() override {
    MUSTER_FAILPOINT("files.before_sync");
    MUSTER_RETURN_IF_ERROR(EndDirect());
    if (fdatasync(fd_.get()) != 0) return ErrnoStatus(errno, "sync", path_);
    MUSTER_FAILPOINT("files.after_sync");
    return absl::OkStatus();
  }
  absl::Status Close() override {
    MUSTER_RETURN_IF_ERROR(EndDirect());
    const int fd = fd_.Release();
    if (fd >= 0 && close(fd) != 0 && errno != EINTR) return ErrnoStatus(errno, "close", path_);
    return absl::OkStatus();
  }

 private:
  absl::Status Write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = write(fd_.get(), bytes.data(), std::min<size_t>(bytes.size(), 1u << 30));
      if (n < 0 && errno == EINTR) continue;
      // The file system wants another alignment.
      if (n < 0 && errno == EINVAL && direct_ != nullptr && fcntl(fd_.get(), F_SETFL, 0) == 0) {
        direct_works_ = false;
        continue;
      }
      if (n < 0) return ErrnoStatus(errno, "write", path_);
      bytes.remove_prefix(static_cast<size_t>(n));
      end_ += n;
    }
    if (direct_ != nullptr && direct_works_) started_ = waited_ = end_;
    return absl::OkStatus();
  }
  // Not every file system can: then the file goes on through the cache.
  void GoDirect() {
    may_go_direct_ = false;
    std::unique_ptr<char, Freed> memory(
        static_cast<char*>(std::aligned_alloc(kBlockBytes, kDirectBytes)));
    if (memory == nullptr || fcntl(fd_.get(), F_SETFL, O_DIRECT) != 0) return;
    direct_ = std::move(memory);
  }
  absl::Status Collect(std::string_view part) {
    std::memcpy(direct_.get() + collected_, part.data(), part.size());
    collected_ += part.size();
    if (collected_ < kDirectBytes) return absl::OkStatus();
    collected_ = 0;
    return Write({direct_.get(), kDirectBytes});
  }
  // Writes what was collected; the last bytes are no whole block and go through the cache.
  absl::Status EndDirect() {
    if (direct_ == nullptr) return absl::OkStatus();
    const size_t blocks = collected_ / kBlockBytes * kBlockBytes;
    absl::Status written = Write({direct_.get(), blocks});
    if (fcntl(fd_.get(), F_SETFL, 0) != 0 && written.ok()) {
      written = ErrnoStatus(errno, "write", path_);
    }
    if (written.ok()) written = Write({direct_.get() + blocks, collected_ - blocks});
    direct_.reset();
    collected_ = 0;
    return written;
  }
  // Waits for the write-back of the previous call, then starts it for the bytes appended since.
  absl::Status WriteBack() {
    if (started_ > waited_ &&
        sync_file_range(fd_.get(), waited_, started_ - waited_, SYNC_FILE_RANGE_WAIT_BEFORE) != 0) {
      // Sync would not report these errors again.
      if (errno == EIO || errno == ENOSPC) return ErrnoStatus(errno, "write", path_);
    }
    waited_ = started_;
    // Only a hint: some file systems do not support it, and Sync gives the guarantee.
    (void)sync_file_range(fd_.get(), started_, end_ - started_, SYNC_FILE_RANGE_WRITE);
    started_ = end_;
    return absl::OkStatus();
  }

  UniqueFd fd_;
  const std::string path_;
  off_t end_;      // of the file, as far as this writer knows
  off_t started_;  // write-back has been started up to here
  off_t waited_;   // write-back has finished up to here
  bool may_go_direct_;
  bool direct_works_ = true;
  std::unique_ptr<char, Freed> direct_;  // null: bytes go through the cache
  size_t collected_ = 0;                 // bytes in direct_
};

class PosixReadableFile final : public ReadableFile {
 public:
  PosixReadableFile(UniqueFd fd, uint64_t size, std::string path)
      : fd_(std::move(fd)), size_(size), path_(std::move(path)) {}

  uint64_t size() const override { return size_; }
  absl::Status Read(uint64_t offset, char* into, size_t size) const override {
    while (size > 0) {
      const ssize_t n =
          pread(fd_.get(), into, std::min<size_t>(size, 1u << 30), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, "read", path_);
      if (n == 0) return absl::OutOfRangeError(absl::StrCat(path_, ": ends at byte ", offset));
      into += n;
      offset += static_cast<uint64_t>(n);
      size -= static_cast<size_t>(n);
    }
    return absl::OkStatus();
  }

 private:
  const UniqueFd fd_;
  const uint64_t size_;
  const std::string path_;
};

class PosixMappedFile final : public MappedFile {
 public:
  PosixMappedFile(void* data, size_t size) : data_(data), size_(size) {}
  ~PosixMappedFile() override {
    if (size_ > 0) munmap(data_, size_);
  }
  std::string_view bytes() const override { return {static_cast<const char*>(data_), size_}; }

 private:
  void* const data_;
  const size_t size_;
};

FileKind KindOf(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kFile;
  if (S_ISDIR(mode)) return FileKind::kDirectory;
  return FileKind::kOther;
}

// A tree that is deeper was made to exhaust who removes it: each level holds a descriptor.
constexpr int kMaxTreeDepth = 256;

// Removes a tree by descriptors, so that a directory that changes places with a link meanwhile
// leads nowhere else.
class TreeRemoval {
 public:
  explicit TreeRemoval(TreeOwner owner) : owner_(owner) {}

  // `path` is for messages.
  absl::Status RemoveAt(int parent, const std::string& name, const std::string& path, int depth) {
    const int error = Unlink(parent, name, 0);
    if (error == 0 || error == ENOENT) return absl::OkStatus();
    if (error != EISDIR && error != EPERM) return ErrnoStatus(error, "remove", path);
    const UniqueFd directory(
        openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (directory.get() < 0) {
      if (errno == ENOTDIR || errno == ELOOP) return ErrnoStatus(error, "remove", path);
      if (errno == ENOENT || Unlink(parent, name, AT_REMOVEDIR) == 0) return absl::OkStatus();
      return ErrnoStatus(errno, "remove", path);
    }
    MUSTER_RETURN_IF_ERROR(Empty(directory.get(), path, depth));
    const int left = Unlink(parent, name, AT_REMOVEDIR);
    return left == 0 || left == ENOENT ? absl::OkStatus() : ErrnoStatus(left, "remove", path);
  }

 private:
  static int Unlink(int parent, const std::string& name, int flags) {
    MUSTER_FAILPOINT("files.before_remove");
    const int error = unlinkat(parent, name.c_str(), flags) == 0 ? 0 : errno;
    MUSTER_FAILPOINT("files.after_remove");
    errno = error;
    return error;
  }

  absl::Status Empty(int directory, const std::string& path, int depth) {
    struct stat info;
    if (fstat(directory, &info) != 0) return ErrnoStatus(errno, "stat", path);
    if (owner_ == TreeOwner::kThisUser && info.st_uid != geteuid()) {
      return absl::PermissionDeniedError(absl::StrCat(path, ": belongs to another user"));
    }
    if (depth == kMaxTreeDepth) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": lies ", depth, " directories deep and is not removed"));
    }
    MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(directory, path));
    for (const std::string& name : names) {
      MUSTER_RETURN_IF_ERROR(RemoveAt(directory, name, JoinPath(path, name), depth + 1));
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<std::vector<std::string>> Names(int directory, const std::string& path) {
    DIR* stream = fdopendir(fcntl(directory, F_DUPFD_CLOEXEC, 0));
    if (stream == nullptr) return ErrnoStatus(errno, "list", path);
    std::vector<std::string> names;
    while (const dirent* entry = readdir(stream)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    closedir(stream);
    return names;
  }

  const TreeOwner owner_;
};

class PosixFiles final : public Files {
 public:
  absl::StatusOr<FileInfo> Stat(const std::string& path) override {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "stat", path);
    return FileInfo{KindOf(info.st_mode), static_cast<uint64_t>(info.st_size)};
  }

  absl::StatusOr<std::vector<DirectoryEntry>> List(const std::string& directory) override {
    DIR* stream = opendir(directory.c_str());
    if (stream == nullptr) return ErrnoStatus(errno, "list", directory);
    std::vector<DirectoryEntry> entries;
    errno = 0;
    while (const dirent* entry = readdir(stream)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat info;
      // An entry that vanished meanwhile, and a dangling link, are listed as kOther.
      const bool known = fstatat(dirfd(stream), name.c_str(), &info, 0) == 0;
      entries.push_back({name, known ? KindOf(info.st_mode) : FileKind::kOther});
      errno = 0;
    }
    const int error = errno;
    closedir(stream);
    if (error != 0) return ErrnoStatus(error, "list", directory);
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return entries;
  }

  absl::StatusOr<std::unique_ptr<ReadableFile>> Open(const std::string& path) override {
    // O_NONBLOCK keeps the open of a pipe from waiting for a writer.
    MUSTER_ASSIGN_OR_RETURN(UniqueFd fd, OpenDescriptor(path, O_RDONLY | O_NONBLOCK, "open"));
    MUSTER_ASSIGN_OR_RETURN(const uint64_t size, RegularSize(fd, path));
    return std::make_unique<PosixReadableFile>(std::move(fd), size, path);
  }

  absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) override {
    MUSTER_ASSIGN_OR_RETURN(UniqueFd fd, OpenDescriptor(path, O_RDONLY | O_NONBLOCK, "open"));
    MUSTER_ASSIGN_OR_RETURN(const uint64_t size, RegularSize(fd, path));
    if (size == 0) return std::make_unique<PosixMappedFile>(nullptr, 0);
    void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (data == MAP_FAILED) return ErrnoStatus(errno, "map", path);
    return std::make_unique<PosixMappedFile>(data, size);
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                       CreateMode mode) override {
    int flags = O_WRONLY | O_CREAT;
    if (mode == CreateMode::kTruncate) flags |= O_TRUNC;
    if (mode == CreateMode::kExclusive) flags |= O_EXCL;
    if (mode == CreateMode::kAppend) flags |= O_APPEND;
    MUSTER_FAILPOINT("files.before_create");
    MUSTER_ASSIGN_OR_RETURN(UniqueFd fd, OpenDescriptor(path, flags, "create"));
    MUSTER_FAILPOINT("files.after_create");
    const off_t end = mode == CreateMode::kAppend ? lseek(fd.get(), 0, SEEK_END) : 0;
    return std::make_unique<PosixWritableFile>(std::move(fd), path, std::max<off_t>(end, 0),
                                               mode == CreateMode::kExclusive);
  }

  absl::Status MakeDirectories(const std::string& path) override {
    if (mkdir(path.c_str(), 0755) == 0) return absl::OkStatus();
    if (errno == ENOENT) {
      const std::string parent = ParentPath(path);
      if (parent == path) return ErrnoStatus(ENOENT, "create", path);
      MUSTER_RETURN_IF_ERROR(MakeDirectories(parent));
      if (mkdir(path.c_str(), 0755) == 0) return absl::OkStatus();
    }
    const int error = errno;
    struct stat info;
    if (error == EEXIST && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      return absl::OkStatus();
    }
    return ErrnoStatus(error, "create directory", path);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    MUSTER_FAILPOINT("files.before_rename");
    const bool renamed = rename(from.c_str(), to.c_str()) == 0;
    const int error = errno;
    MUSTER_FAILPOINT("files.after_rename");
    if (renamed) return absl::OkStatus();
    return ErrnoStatus(error, absl::StrCat("rename to ", to), from);
  }

  absl::Status Exchange(const std::string& a, const std::string& b) override {
    MUSTER_FAILPOINT("files.before_exchange");
    const bool exchanged =
        renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
    const int error = errno;
    MUSTER_FAILPOINT("files.after_exchange");
    if (exchanged) return absl::OkStatus();
    // NFS answers EINVAL, older kernels ENOSYS, and an overlay EXDEV for a directory below it.
    if (error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EXDEV) {
      return Files::Exchange(a, b);
    }
    return ErrnoStatus(error, absl::StrCat("exchange with ", b), a);
  }

  absl::Status Remove(const std::string& path) override {
    MUSTER_FAILPOINT("files.before_remove");
    const bool removed = remove(path.c_str()) == 0;
    const int error = errno;
    MUSTER_FAILPOINT("files.after_remove");
    if (removed) return absl::OkStatus();
    return ErrnoStatus(error, "remove", path);
  }

  absl::Status RemoveTree(const std::string& path, TreeOwner owner) override {
    const absl::StatusOr<UniqueFd> parent =
        OpenDescriptor(ParentPath(path), O_PATH | O_DIRECTORY, "open directory");
    if (absl::IsNotFound(parent.status())) return absl::OkStatus();
    MUSTER_RETURN_IF_ERROR(parent.status());
    return TreeRemoval(owner).RemoveAt(parent->get(), BaseName(path), path, 0);
  }

  absl::Status CheckOwnDirectory(const std::string& path) override {
    struct stat info;
    if (lstat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "stat", path);
    if (!S_ISDIR(info.st_mode)) {
      return absl::PermissionDeniedError(absl::StrCat(path, ": is a link or file, no directory"));
    }
    if (info.st_uid == geteuid()) return absl::OkStatus();
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": belongs to another user, with the id ", info.st_uid));
  }

  absl::Status SyncDirectory(const std::string& directory) override {
    MUSTER_FAILPOINT("files.before_sync_directory");
    MUSTER_ASSIGN_OR_RETURN(UniqueFd fd,
                            OpenDescriptor(directory, O_RDONLY | O_DIRECTORY, "open directory"));
    // Some network file systems refuse to sync a directory; nothing more can be done there.
    if (fsync(fd.get()) != 0 && errno != EINVAL) return ErrnoStatus(errno, "sync", directory);
    MUSTER_FAILPOINT("files.after_sync_directory");
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> FreeBytes(const std::string& path) override {
    struct statvfs info;
    if (statvfs(path.c_str(), &info) != 0) return ErrnoStatus(errno, "stat", path);
    return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
  }
};

}  // namespace

Files& FileSystem() {
  static PosixFiles* const files = new PosixFiles;
  return *files;
}

}  // namespace muster
