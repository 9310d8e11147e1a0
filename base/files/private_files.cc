#include "base/files/private_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"

namespace muster {
namespace {

// FileSystem(), except for the modes of the files and directories that it creates.
class PrivateFiles final : public Files {
 public:
  absl::StatusOr<FileInfo> Stat(const std::string& path) override { return all_.Stat(path); }
  absl::StatusOr<std::vector<DirectoryEntry>> List(const std::string& directory) override {
    return all_.List(directory);
  }
  absl::StatusOr<std::unique_ptr<ReadableFile>> Open(const std::string& path) override {
    return all_.Open(path);
  }
  absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) override {
    return all_.Map(path);
  }

  // Creates the file with its mode, then opens it as an existing one, which reports any error.
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                       CreateMode mode) override {
    const int made = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (made < 0) return all_.Create(path, mode);
    close(made);
    return all_.Create(path, mode == CreateMode::kExclusive ? CreateMode::kTruncate : mode);
  }

  absl::Status MakeDirectories(const std::string& path) override {
    if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
    const std::string parent = ParentPath(path);
    if (errno == ENOENT && parent != path) {
      MUSTER_RETURN_IF_ERROR(MakeDirectories(parent));
      if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
    }
    return all_.MakeDirectories(path);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    return all_.Rename(from, to);
  }
  absl::Status Exchange(const std::string& a, const std::string& b) override {
    return all_.Exchange(a, b);
  }
  absl::Status Remove(const std::string& path) override { return all_.Remove(path); }
  absl::Status RemoveTree(const std::string& path, TreeOwner owner) override {
    return all_.RemoveTree(path, owner);
  }
  absl::Status CheckOwnDirectory(const std::string& path) override {
    return all_.CheckOwnDirectory(path);
  }
  absl::Status SyncDirectory(const std::string& directory) override {
    return all_.SyncDirectory(directory);
  }
  absl::StatusOr<uint64_t> FreeBytes(const std::string& path) override {
    return all_.FreeBytes(path);
  }

 private:
  Files& all_ = FileSystem();
};

}  // namespace

Files& PrivateFileSystem() {
  static PrivateFiles* const files = new PrivateFiles;
  return *files;
}

}  // namespace muster
