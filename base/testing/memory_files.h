#ifndef MUSTER_BASE_TESTING_MEMORY_FILES_H_
#define MUSTER_BASE_TESTING_MEMORY_FILES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files.h"
#include "base/mutex.h"

namespace muster {

// A file system in memory, for tests. It keeps, beside what programs see, what a power cut would
// leave: file bytes reach that state by Sync(), names by SyncDirectory(). Thread-safe.
class MemoryFiles final : public Files {
 public:
  enum class Operation {
    kCreate,
    kAppend,
    kSync,
    kMakeDirectory,
    kRename,
    kRemove,
    kSyncDirectory
  };
  // Asked before every change; a non-OK answer is what the caller gets and nothing is changed.
  using Fault = std::function<absl::Status(Operation, const std::string& path)>;

  MemoryFiles();
  ~MemoryFiles() override;

  absl::StatusOr<FileInfo> Stat(const std::string& path) override;
  absl::StatusOr<std::vector<DirectoryEntry>> List(const std::string& directory) override;
  absl::StatusOr<std::unique_ptr<ReadableFile>> Open(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                       CreateMode mode) override;
  absl::Status MakeDirectories(const std::string& path) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& directory) override;
  absl::StatusOr<uint64_t> FreeBytes(const std::string& path) override;

  void SetFault(Fault fault);
  // The process "dies" at its change number `changes` from now: that one and all later ones answer
  // Aborted and change nothing. Negative: never.
  void KillAfter(int64_t changes);
  // Changes since construction.
  int64_t changes() const;
  // Bytes all files together may hold; an Append beyond it writes what fits, then
  // ResourceExhausted.
  void SetCapacity(uint64_t bytes);
  // A power cut: what was never synced is gone. Faults and kills are lifted, open files are dead.
  void Crash();

  // Changes bytes behind every caller's back, as bad storage does.
  absl::Status Overwrite(const std::string& path, std::string contents);

 private:
  struct Node;
  class Writer;
  class Reader;
  using NodePtr = std::shared_ptr<Node>;

  absl::Status Admit(Operation operation, const std::string& path) MUSTER_REQUIRES(mu_);
  absl::StatusOr<NodePtr> Find(const std::string& path) const MUSTER_REQUIRES(mu_);
  absl::Status Append(Node& node, const std::string& path, std::string_view bytes,
                      int64_t generation);
  absl::Status Sync(Node& node, const std::string& path, int64_t generation);

  mutable Mutex mu_;
  NodePtr root_ MUSTER_GUARDED_BY(mu_);
  Fault fault_ MUSTER_GUARDED_BY(mu_);
  int64_t changes_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t kill_at_ MUSTER_GUARDED_BY(mu_) = -1;
  int64_t generation_ MUSTER_GUARDED_BY(mu_) = 0;
  uint64_t capacity_ MUSTER_GUARDED_BY(mu_) = UINT64_MAX;
};

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_MEMORY_FILES_H_
