#ifndef MUSTER_BASE_OBJECT_STORE_S3_FILES_H_
#define MUSTER_BASE_OBJECT_STORE_S3_FILES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "base/files/storage_trouble.h"
#include "base/object_store/block_cache.h"
#include "base/object_store/object_uri.h"
#include "base/object_store/s3_client.h"

namespace muster {

// Files as objects of an S3-compatible store; IsObjectStore() in base/files/files.h says what
// differs. Paths are s3://bucket/key. A missing bucket is FailedPrecondition, never NotFound, so
// that it is not taken for an empty directory.
//
// A file is uploaded when it is closed, or in parts while it grows; the store decides
// CreateMode::kExclusive when the upload ends. Reads go through a BlockCache. An upload that its
// writer left unfinished is invisible but takes space: List() shows the directory that its file
// would be in, and RemoveTree() aborts it. Stores that cannot list uploads by a common prefix, such
// as MinIO, end them by themselves.
class S3Files final : public Files {
 public:
  struct Options {
    // The size of the first parts, at least 5 MiB. Later parts are larger, because an upload has at
    // most 10,000 parts.
    size_t part_bytes = size_t{16} << 20;
    // The number of parts of one file that are sent at a time; see S3Upload.
    size_t parallel_parts = 4;
    BlockCache::Options blocks = {};
  };

  S3Files(std::unique_ptr<S3Client> client, Options options);

  absl::StatusOr<FileInfo> Stat(const std::string& path) override;
  absl::StatusOr<std::vector<DirectoryEntry>> List(const std::string& directory) override;
  absl::StatusOr<std::unique_ptr<ReadableFile>> Open(const std::string& path) override;
  // Holds the whole file in memory.
  absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                       CreateMode mode) override;
  absl::Status MakeDirectories(const std::string& path) override;
  // Unimplemented.
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& directory) override;
  absl::StatusOr<uint64_t> FreeBytes(const std::string& path) override;
  absl::Status RemoveTree(const std::string& path, TreeOwner owner) override;
  absl::Status CheckOwnDirectory(const std::string&) override { return absl::OkStatus(); }
  bool IsObjectStore() const override { return true; }
  std::optional<StorageTrouble> trouble() const override { return client_->trouble(); }

 private:
  absl::StatusOr<bool> HoldsAnything(const ObjectUri& at);
  absl::StatusOr<std::optional<S3Client::Object>> Find(const std::string& path,
                                                       const ObjectUri& at);
  absl::Status EndUploads(const ObjectUri& at);

  // Shared with the files that are open.
  const std::shared_ptr<S3Client> client_;
  const std::shared_ptr<BlockCache> cache_;
  const Options options_;
};

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_S3_FILES_H_
