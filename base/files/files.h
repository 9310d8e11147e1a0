#ifndef MUSTER_BASE_FILES_FILES_H_
#define MUSTER_BASE_FILES_FILES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/storage_trouble.h"

namespace muster {

// The seam to the file system. FileSystem() is the real one; S3Files (object_store/s3_files.h)
// keeps files as objects of a store; MemoryFiles (memory_files.h) is a fake that can lose unsynced
// data and fail on request.
//
// Errors carry the path. NotFound: it does not exist. AlreadyExists: it does, or the directory is
// not empty. PermissionDenied: no access, or a read-only file system. ResourceExhausted: disk or
// quota full. Nothing is durable before Sync() of the file and SyncDirectory() of its directory.
// Files is thread-safe; the objects it returns are not, unless they say so. Sizes are in bytes.
//
// An object store promises less; callers that need more ask IsObjectStore(). A directory exists
// there as long as something is in it, and cannot be made, renamed or synced. A file cannot be
// renamed or appended to. It appears, whole and durable, when Close() returns OK, and not at all if
// it is destroyed before.

enum class FileKind { kFile, kDirectory, kOther };

struct FileInfo {
  FileKind kind = FileKind::kFile;
  uint64_t size = 0;
};

struct DirectoryEntry {
  std::string name;  // without the directory
  FileKind kind = FileKind::kFile;
  std::optional<uint64_t> size = std::nullopt;  // of a file, if the listing has it
};

enum class CreateMode {
  kTruncate,   // creates a missing file, empties an existing one
  kExclusive,  // AlreadyExists if it exists, so that exactly one process wins
  kAppend,     // creates a missing file, appends to an existing one
};

// The owners whose directories RemoveTree() may remove.
enum class TreeOwner { kAnybody, kThisUser };

class WritableFile {
 public:
  virtual ~WritableFile() = default;  // closes, ignoring errors
  virtual absl::Status Append(std::string_view bytes) = 0;
  virtual absl::Status Sync() = 0;
  virtual absl::Status Close() = 0;  // also reports the errors of late write-back
};

// Positional reads. Thread-safe.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual uint64_t size() const = 0;
  // Fills `into` from `offset`; OutOfRange if the file ends before that.
  virtual absl::Status Read(uint64_t offset, char* into, size_t size) const = 0;
};

// A whole file, mapped read-only. Thread-safe. The file must not be truncated while it is mapped.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  virtual std::string_view bytes() const = 0;
};

class Files {
 public:
  virtual ~Files() = default;

  virtual absl::StatusOr<FileInfo> Stat(const std::string& path) = 0;
  // Returns the entries sorted by name, without "." and "..".
  virtual absl::StatusOr<std::vector<DirectoryEntry>> List(const std::string& directory) = 0;
  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> Open(const std::string& path) = 0;
  virtual absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) = 0;
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                               CreateMode mode) = 0;
  // Makes `path` with its parents; OK if it exists already.
  virtual absl::Status MakeDirectories(const std::string& path) = 0;
  // Atomic. Replaces a file; AlreadyExists if `to` is a directory that is not empty.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  // Swaps the names of two existing entries atomically. Unimplemented, with nothing changed, on
  // file systems that cannot, such as NFS.
  virtual absl::Status Exchange(const std::string& a, const std::string& b);
  // Removes a file or an empty directory.
  virtual absl::Status Remove(const std::string& path) = 0;
  // Makes creations, renames and removals inside `directory` durable.
  virtual absl::Status SyncDirectory(const std::string& directory) = 0;
  // Returns the maximum of uint64_t if the storage reports no limit.
  virtual absl::StatusOr<uint64_t> FreeBytes(const std::string& path) = 0;
  // Removes a file, or a directory with its contents; OK if nothing is there. Symbolic links are
  // removed, never followed, even if other processes change the directory meanwhile. With
  // kThisUser, a directory of another user is PermissionDenied, and nothing in it is removed.
  virtual absl::Status RemoveTree(const std::string& path, TreeOwner owner) = 0;
  // Returns PermissionDenied unless `path` itself, not the target of a link, is a directory of this
  // user; OK on storage without users.
  virtual absl::Status CheckOwnDirectory(const std::string& path) = 0;
  virtual bool IsObjectStore() const { return false; }
  // Returns how long the storage has failed; nullopt if it answers, or if that is not known.
  virtual std::optional<StorageTrouble> trouble() const { return std::nullopt; }
};

// The machine's file system. Lives forever.
Files& FileSystem();

// Reads the whole file; ResourceExhausted, with both sizes, if it is larger than `max_bytes`.
absl::StatusOr<std::string> ReadFile(Files& files, const std::string& path,
                                     size_t max_bytes = size_t{64} << 20);
// Replaces the contents so that readers see either the old or the new ones: writes a temporary
// file, syncs it, renames it and syncs the directory. Removes the temporary file on failure. An
// object store writes every file atomically, without the temporary one.
absl::Status WriteFileAtomically(Files& files, const std::string& path, std::string_view contents);
// Creates `path` with `contents`, durably; AlreadyExists if it exists.
absl::Status CreateExclusive(Files& files, const std::string& path, std::string_view contents);
// RemoveTree() with kAnybody and with kThisUser. The latter is for a path in a directory that other
// users can write to.
absl::Status RemoveAll(Files& files, const std::string& path);
absl::Status RemoveAllOfThisUser(Files& files, const std::string& path);
bool Exists(Files& files, const std::string& path);

// Operations on path text: "a/b" + "c" -> "a/b/c"; parent of "a" is "."; base name of "a/b/" is
// "b".
std::string JoinPath(std::string_view directory, std::string_view name);
std::string ParentPath(std::string_view path);
std::string BaseName(std::string_view path);

}  // namespace muster

#endif  // MUSTER_BASE_FILES_FILES_H_
