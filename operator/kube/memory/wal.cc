#include "operator/kube/memory/wal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/files/private_files.h"
#include "base/status_macros.h"
#include "operator/kube/memory/wal_format.h"

namespace muster::kube {
namespace {

constexpr char kSnapshot[] = "snapshot";
constexpr char kLog[] = "log";

std::string In(const std::string& directory, const char* name) { return JoinPath(directory, name); }

// Returns "" if the file does not exist.
absl::StatusOr<std::string> ReadIfThere(Files& files, const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFile(files, path, std::numeric_limits<size_t>::max() / 2);
  if (absl::IsNotFound(bytes.status())) return std::string();
  return bytes;
}

// Returns the length of the valid prefix.
absl::StatusOr<size_t> ReplayBytes(std::string_view bytes, bool from_snapshot,
                                   const Wal::Replay& replay) {
  WalReader reader(bytes);
  while (const std::optional<std::string_view> record = reader.Next()) {
    MUSTER_RETURN_IF_ERROR(replay(*record, from_snapshot));
  }
  return reader.good_bytes();
}

absl::Status Damaged(const std::string& path, size_t at) {
  return absl::DataLossError(
      absl::StrCat(path, " is damaged at byte ", at, ": move its directory away to start anew"));
}

}  // namespace

// An exclusive flock on "LOCK" in a directory, held until the object is destroyed or the process
// ends. Child processes do not inherit it. The file contains the holder's process id, for people.
class Wal::DirectoryLock {
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

absl::StatusOr<std::unique_ptr<Wal::DirectoryLock>> Wal::DirectoryLock::Acquire(
    const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/LOCK");
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    char holder[32] = {};
    const ssize_t got = pread(fd, holder, sizeof(holder) - 1, 0);
    close(fd);
    if (error != EWOULDBLOCK) return absl::ErrnoToStatus(error, absl::StrCat("cannot lock ", path));
    return absl::UnavailableError(
        absl::StrCat(directory, " is in use by process ",
                     got > 0 ? std::string(absl::StripAsciiWhitespace(holder)) : "(unknown)"));
  }
  const std::string pid = absl::StrCat(getpid(), "\n");
  // The process id is only a hint for people: a full disk must not keep the operator from starting.
  if (ftruncate(fd, 0) == 0) (void)!pwrite(fd, pid.data(), pid.size(), 0);
  return std::unique_ptr<DirectoryLock>(new DirectoryLock(fd));
}

Wal::DirectoryLock::~DirectoryLock() { close(fd_); }

Wal::Wal(std::string directory, WalOptions options, std::unique_ptr<DirectoryLock> lock)
    : directory_(std::move(directory)),
      options_(options),
      files_(options.files == nullptr ? PrivateFileSystem() : *options.files),
      lock_(std::move(lock)) {}

Wal::~Wal() = default;

absl::StatusOr<std::unique_ptr<Wal>> Wal::Open(const std::string& directory, WalOptions options,
                                               const Replay& replay) {
  MUSTER_RETURN_IF_ERROR(PrivateFileSystem().MakeDirectories(directory));
  MUSTER_ASSIGN_OR_RETURN(auto lock, DirectoryLock::Acquire(directory));
  std::unique_ptr<Wal> wal(new Wal(directory, options, std::move(lock)));
  if (!Exists(wal->files_, In(directory, kLog))) {
    MUSTER_RETURN_IF_ERROR(wal->files_.MakeDirectories(directory));
    MUSTER_RETURN_IF_ERROR(wal->files_.SyncDirectory(ParentPath(directory)));
  }
  MUSTER_RETURN_IF_ERROR(wal->ReplayAll(replay));
  if (wal->dropped_bytes_ > 0) {
    wal->broken_ = true;  // until Compact: records after a torn tail would be lost
    return wal;
  }
  MUSTER_RETURN_IF_ERROR(wal->StartLog(CreateMode::kAppend));
  return wal;
}

absl::Status Wal::ReplayAll(const Replay& replay) {
  const std::string snapshot_path = In(directory_, kSnapshot);
  MUSTER_ASSIGN_OR_RETURN(const std::string snapshot, ReadIfThere(files_, snapshot_path));
  MUSTER_ASSIGN_OR_RETURN(const size_t good, ReplayBytes(snapshot, true, replay));
  if (good != snapshot.size()) return Damaged(snapshot_path, good);
  snapshot_bytes_ = snapshot.size();
  MUSTER_ASSIGN_OR_RETURN(const std::string log, ReadIfThere(files_, In(directory_, kLog)));
  MUSTER_ASSIGN_OR_RETURN(log_bytes_, ReplayBytes(log, false, replay));
  dropped_bytes_ = static_cast<int64_t>(log.size() - log_bytes_);
  if (dropped_bytes_ > 0) {
    // Kept for inspection; failing to write it does no harm.
    WriteFileAtomically(files_, In(directory_, "log.torn"), log.substr(log_bytes_)).IgnoreError();
  }
  return absl::OkStatus();
}

absl::Status Wal::Read(const std::string& directory, Files& files,
                       const std::function<void()>& begin, const Replay& replay) {
  constexpr int kAttempts = 5;
  const std::string snapshot_path = In(directory, kSnapshot);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    begin();
    MUSTER_ASSIGN_OR_RETURN(const std::string snapshot, ReadIfThere(files, snapshot_path));
    MUSTER_ASSIGN_OR_RETURN(const std::string log, ReadIfThere(files, In(directory, kLog)));
    MUSTER_ASSIGN_OR_RETURN(const std::string again, ReadIfThere(files, snapshot_path));
    if (snapshot != again) continue;  // compacted meanwhile: the log no longer belongs to it
    MUSTER_ASSIGN_OR_RETURN(const size_t good, ReplayBytes(snapshot, true, replay));
    if (good != snapshot.size()) return Damaged(snapshot_path, good);
    return ReplayBytes(log, false, replay).status();
  }
  return absl::UnavailableError(absl::StrCat(directory, " keeps changing while it is read"));
}

absl::Status Wal::StartLog(CreateMode mode) {
  MUSTER_ASSIGN_OR_RETURN(log_, files_.Create(In(directory_, kLog), mode));
  return files_.SyncDirectory(directory_);
}

absl::Status Wal::Append(std::string_view record) {
  if (broken_) {
    return absl::UnavailableError(
        absl::StrCat(directory_, ": an earlier write failed and the log is not repaired yet"));
  }
  if (record.size() > kWalMaxPayload) {
    return absl::InvalidArgumentError(
        absl::StrCat("a record has ", record.size(), " bytes; want at most ", kWalMaxPayload));
  }
  const std::string bytes = EncodeWalRecord(record);
  absl::Status written = log_->Append(bytes);
  if (written.ok() && options_.sync_every_write) written = log_->Sync();
  if (!written.ok()) {
    broken_ = true;
    return written;
  }
  log_bytes_ += bytes.size();
  return absl::OkStatus();
}

bool Wal::WantsCompaction() const {
  return broken_ || log_bytes_ > std::max(options_.compact_bytes, snapshot_bytes_);
}

absl::Status Wal::WriteSnapshot(const std::string& path, const Snapshot& snapshot) {
  MUSTER_ASSIGN_OR_RETURN(auto file, files_.Create(path, CreateMode::kTruncate));
  size_t bytes = 0;
  MUSTER_RETURN_IF_ERROR(snapshot([&](std::string_view record) {
    const std::string encoded = EncodeWalRecord(record);
    bytes += encoded.size();
    return file->Append(encoded);
  }));
  MUSTER_RETURN_IF_ERROR(file->Sync());
  MUSTER_RETURN_IF_ERROR(file->Close());
  snapshot_bytes_ = bytes;
  return absl::OkStatus();
}

absl::Status Wal::Compact(const Snapshot& snapshot) {
  const std::string fresh = In(directory_, "snapshot.new");
  if (absl::Status written = WriteSnapshot(fresh, snapshot); !written.ok()) {
    files_.Remove(fresh).IgnoreError();
    return written;
  }
  MUSTER_RETURN_IF_ERROR(files_.Rename(fresh, In(directory_, kSnapshot)));
  MUSTER_RETURN_IF_ERROR(files_.SyncDirectory(directory_));
  // A crash here leaves a log that the snapshot already contains; the replay skips it by version.
  broken_ = true;
  MUSTER_RETURN_IF_ERROR(StartLog(CreateMode::kTruncate));
  log_bytes_ = 0;
  broken_ = false;
  return absl::OkStatus();
}

}  // namespace muster::kube
