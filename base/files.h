#ifndef MUSTER_BASE_FILES_H_
#define MUSTER_BASE_FILES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster {

// The seam to the file system. FileSystem() is the real one; MemoryFiles (memory_files.h) behaves
// like one, counts what was never synced, and fails on order.
//
// Errors carry the path. NotFound: it does not exist. AlreadyExists: it does (or the directory is
// not empty). PermissionDenied: access, or a read-only file system. ResourceExhausted: disk or
// quota full. Nothing is durable before Sync() of the file and SyncDirectory() of the directory
// that names it. Thread-safe; the objects it hands out are not, unless they say so. Sizes are
// bytes.

enum class FileKind { kFile, kDirectory, kOther };

struct FileInfo {
  FileKind kind = FileKind::kFile;
  uint64_t size = 0;
  int64_t modified_us = 0;  // since the Unix epoch; 0 where unknown
};

struct DirectoryEntry {
  std::string name;  // without its directory
  FileKind kind = FileKind::kFile;
};

enum class CreateMode {
  kTruncate,   // made when missing, emptied when there
  kExclusive,  // AlreadyExists when there: one winner among any number of processes
  kAppend,     // made when missing, written at its end
};

class WritableFile {
 public:
  virtual ~WritableFile() = default;  // closes, dropping errors
  virtual absl::Status Append(std::string_view bytes) = 0;
  virtual absl::Status Sync() = 0;
  virtual absl::Status Close() = 0;  // reports what a late write-back reports
};

// Positional reads. Thread-safe.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual uint64_t size() const = 0;
  // Fills `into` from `offset`; OutOfRange when the file ends before that.
  virtual absl::Status Read(uint64_t offset, char* into, size_t size) const = 0;
};

// A whole file, read-only, mapped. Thread-safe. Truncating the file underneath is the owner's
// fault.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  virtual std::string_view bytes() const = 0;
};

class Files {
 public:
  virtual ~Files() = default;

  virtual absl::StatusOr<FileInfo> Stat(const std::string& path) = 0;
  // Sorted by name, without "." and "..".
  virtual absl::StatusOr<std::vector<DirectoryEntry>> List(const std::string& directory) = 0;
  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> Open(const std::string& path) = 0;
  virtual absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) = 0;
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                               CreateMode mode) = 0;
  // With its parents; OK when it is there already.
  virtual absl::Status MakeDirectories(const std::string& path) = 0;
  // Atomic. Replaces a file; onto a directory that is not empty: AlreadyExists.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  // A file or an empty directory.
  virtual absl::Status Remove(const std::string& path) = 0;
  // Makes creations, renames and removals inside `directory` durable.
  virtual absl::Status SyncDirectory(const std::string& directory) = 0;
  virtual absl::StatusOr<uint64_t> FreeBytes(const std::string& path) = 0;
};

// The machine's file system. Lives for ever.
Files& FileSystem();

// ResourceExhausted when the file is larger than `max_bytes`, with both sizes.
absl::StatusOr<std::string> ReadFile(Files& files, const std::string& path,
                                     size_t max_bytes = size_t{64} << 20);
// Readers see the old contents or the new, never a part: temporary file, sync, rename, sync of the
// directory. The temporary file is removed on failure.
absl::Status WriteFileAtomically(Files& files, const std::string& path, std::string_view contents);
// Creates `path` with `contents`, durable; AlreadyExists when somebody else was first.
absl::Status CreateExclusive(Files& files, const std::string& path, std::string_view contents);
// A directory and all it holds, or a file; OK when nothing is there. Symbolic links are removed,
// not followed.
absl::Status RemoveAll(Files& files, const std::string& path);
bool Exists(Files& files, const std::string& path);

// Text on paths: "a/b" + "c" -> "a/b/c"; parent of "a" is "."; base name of "a/b/" is "b".
std::string JoinPath(std::string_view directory, std::string_view name);
std::string ParentPath(std::string_view path);
std::string BaseName(std::string_view path);

}  // namespace muster

#endif  // MUSTER_BASE_FILES_H_
