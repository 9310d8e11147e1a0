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
#include "base/files/files.h"
#include "base/mutex.h"

namespace muster {

// A file system in memory, for tests. Besides the contents that programs see, it keeps those that a
// power cut would leave: bytes get there by Sync(), names by SyncDirectory(). Thread-safe.
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
  // Called before every change; the caller gets a non-OK result, and nothing changes.
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
  absl::Status Exchange(const std::string& a, const std::string& b) override;
  absl::Status Remove(const std::string& path) override;
  absl::Status RemoveTree(const std::string& path, TreeOwner owner) override;
  absl::Status CheckOwnDirectory(const std::string&) override { return absl::OkStatus(); }
  absl::Status SyncDirectory(const std::string& directory) override;
  absl::StatusOr<uint64_t> FreeBytes(const std::string& path) override;

  void SetFault(Fault fault);
  // Called before every Open(), which returns what is not OK.
  void SetOpenFault(std::function<absl::Status(const std::string& path)> fault);
  // Simulates the death of the process at its `changes`th change from now: this and all later
  // changes return Aborted and have no effect. Negative: never.
  void KillAfter(int64_t changes);
  // The number of changes since construction.
  int64_t changes() const;
  // Limits the bytes that all files together may hold. An Append beyond it writes what fits, then
  // returns ResourceExhausted.
  void SetCapacity(uint64_t bytes);
  // Makes Exchange() return Unimplemented, as on NFS.
  void RefuseExchange();
  // Simulates a power cut: unsynced data is lost, faults and kills are lifted, and open files fail.
  void Crash();

  // Changes bytes without any caller's knowledge, as bad storage does.
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
  std::function<absl::Status(const std::string&)> open_fault_ MUSTER_GUARDED_BY(mu_);
  int64_t changes_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t kill_at_ MUSTER_GUARDED_BY(mu_) = -1;
  int64_t generation_ MUSTER_GUARDED_BY(mu_) = 0;
  uint64_t capacity_ MUSTER_GUARDED_BY(mu_) = UINT64_MAX;
  bool refuses_exchange_ MUSTER_GUARDED_BY(mu_) = false;
};

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_MEMORY_FILES_H_
