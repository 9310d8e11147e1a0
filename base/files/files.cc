#include "base/files/files.h"

#include <unistd.h>

#include <atomic>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster {
namespace {

absl::Status WriteAll(Files& files, const std::string& path, CreateMode mode,
                      std::string_view contents) {
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files.Create(path, mode));
  MUSTER_RETURN_IF_ERROR(file->Append(contents));
  MUSTER_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

std::string TemporaryName(const std::string& path) {
  // Random, because processes of several machines may share the directory.
  static const uint64_t process = (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  static std::atomic<uint64_t> counter{0};
  return absl::StrCat(path, ".tmp.", absl::Hex(process), ".", getpid(), ".", counter.fetch_add(1));
}

std::string_view WithoutTrailingSlashes(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

}  // namespace

absl::StatusOr<std::string> ReadFile(Files& files, const std::string& path, size_t max_bytes) {
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.Open(path));
  if (file->size() > max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": ", file->size(), " bytes, more than the limit of ", max_bytes));
  }
  std::string contents(file->size(), '\0');
  MUSTER_RETURN_IF_ERROR(file->Read(0, contents.data(), contents.size()));
  return contents;
}

absl::Status WriteFileAtomically(Files& files, const std::string& path, std::string_view contents) {
  if (files.IsObjectStore()) return WriteAll(files, path, CreateMode::kTruncate, contents);
  const std::string temporary = TemporaryName(path);
  absl::Status status = WriteAll(files, temporary, CreateMode::kTruncate, contents);
  if (status.ok()) status = files.Rename(temporary, path);
  if (!status.ok()) {
    files.Remove(temporary).IgnoreError();
    return status;
  }
  return files.SyncDirectory(ParentPath(path));
}

absl::Status CreateExclusive(Files& files, const std::string& path, std::string_view contents) {
  MUSTER_RETURN_IF_ERROR(WriteAll(files, path, CreateMode::kExclusive, contents));
  return files.SyncDirectory(ParentPath(path));
}

absl::Status Files::Exchange(const std::string& a, const std::string&) {
  return absl::UnimplementedError(absl::StrCat(a, ": names cannot be exchanged here"));
}

absl::Status RemoveAll(Files& files, const std::string& path) {
  return files.RemoveTree(path, TreeOwner::kAnybody);
}

absl::Status RemoveAllOfThisUser(Files& files, const std::string& path) {
  return files.RemoveTree(path, TreeOwner::kThisUser);
}

bool Exists(Files& files, const std::string& path) { return files.Stat(path).ok(); }

std::string JoinPath(std::string_view directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  if (directory.back() == '/') return std::string(directory).append(name);
  return std::string(directory).append("/").append(name);
}

std::string ParentPath(std::string_view path) {
  path = WithoutTrailingSlashes(path);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  if (slash == 0) return "/";
  return std::string(WithoutTrailingSlashes(path.substr(0, slash)));
}

std::string BaseName(std::string_view path) {
  path = WithoutTrailingSlashes(path);
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos || path.size() == 1 ? path
                                                                         : path.substr(slash + 1));
}

}  // namespace muster
