#ifndef MUSTER_OPERATOR_KUBE_MEMORY_WAL_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_WAL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"

namespace muster::kube {

struct WalOptions {
  // If true, a write is on disk before it returns and survives a loss of power. If false, it is
  // with the kernel and survives the death of the process.
  bool sync_every_write = false;
  // The log is compacted into a snapshot when it outgrows both this and the last snapshot.
  size_t compact_bytes = size_t{8} << 20;
  Files* files = nullptr;  // null: the real file system
};

// A write-ahead log: a directory with the files "snapshot" and "log", which hold checksummed
// records. A record that Append accepted is read back after any death of the process. A torn tail
// is dropped (and kept aside as "log.torn"), never fatal. Not thread-safe; one process at a time.
class Wal {
 public:
  // Called with each record of the snapshot, then of the log.
  using Replay = std::function<absl::Status(std::string_view record, bool from_snapshot)>;
  using Emit = std::function<absl::Status(std::string_view record)>;
  // Emits the records that stand for everything appended so far.
  using Snapshot = std::function<absl::Status(const Emit& emit)>;

  ~Wal();

  // Takes the directory's lock, creating the directory if needed, and replays it. kUnavailable if
  // another process holds the lock; kDataLoss if the snapshot is damaged, and then nothing is
  // changed.
  static absl::StatusOr<std::unique_ptr<Wal>> Open(const std::string& directory, WalOptions options,
                                                   const Replay& replay);
  // Replays without a lock, even while another process writes. `begin` is called before each
  // attempt (a concurrent compaction restarts the replay).
  static absl::Status Read(const std::string& directory, Files& files,
                           const std::function<void()>& begin, const Replay& replay);

  // Appends a record. After a failure the log's end is unknown, so every further Append fails until
  // Compact has succeeded.
  absl::Status Append(std::string_view record);
  bool WantsCompaction() const;
  bool broken() const { return broken_; }
  absl::Status Compact(const Snapshot& snapshot);

  int64_t dropped_bytes() const { return dropped_bytes_; }

 private:
  class DirectoryLock;

  Wal(std::string directory, WalOptions options, std::unique_ptr<DirectoryLock> lock);
  absl::Status ReplayAll(const Replay& replay);
  absl::Status StartLog(CreateMode mode);
  absl::Status WriteSnapshot(const std::string& path, const Snapshot& snapshot);

  const std::string directory_;
  const WalOptions options_;
  Files& files_;
  const std::unique_ptr<DirectoryLock> lock_;
  std::unique_ptr<WritableFile> log_;
  size_t log_bytes_ = 0;
  size_t snapshot_bytes_ = 0;
  int64_t dropped_bytes_ = 0;
  bool broken_ = false;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_WAL_H_
