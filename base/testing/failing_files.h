#ifndef MUSTER_BASE_TESTING_FAILING_FILES_H_
#define MUSTER_BASE_TESTING_FAILING_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "base/status_macros.h"

namespace muster {

// Passes everything on to other files, but lets some changes fail without an effect, as on a full
// disk. One thread.
class FailingFiles final : public Files {
 public:
  explicit FailingFiles(Files& files) : files_(files) {}

  // Makes the `change`th change from now, counted from 0, and `times` - 1 after it fail.
  void FailAt(int64_t change, int64_t times) {
    made_ = 0;
    first_ = change;
    last_ = times > INT64_MAX - change ? INT64_MAX : change + times - 1;
  }
  // The changes since FailAt().
  int64_t made() const { return made_; }

  absl::StatusOr<FileInfo> Stat(const std::string& path) override { return files_.Stat(path); }
  absl::StatusOr<std::vector<DirectoryEntry>> List(const std::string& directory) override {
    return files_.List(directory);
  }
  absl::StatusOr<std::unique_ptr<ReadableFile>> Open(const std::string& path) override {
    return files_.Open(path);
  }
  absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) override {
    return files_.Map(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                       CreateMode mode) override {
    MUSTER_RETURN_IF_ERROR(Admit(path));
    MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files_.Create(path, mode));
    return std::make_unique<FailingFile>(std::move(file), path, *this);
  }
  absl::Status MakeDirectories(const std::string& path) override {
    MUSTER_RETURN_IF_ERROR(Admit(path));
    return files_.MakeDirectories(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    MUSTER_RETURN_IF_ERROR(Admit(from));
    return files_.Rename(from, to);
  }
  absl::Status Remove(const std::string& path) override {
    MUSTER_RETURN_IF_ERROR(Admit(path));
    return files_.Remove(path);
  }
  absl::Status SyncDirectory(const std::string& directory) override {
    MUSTER_RETURN_IF_ERROR(Admit(directory));
    return files_.SyncDirectory(directory);
  }
  absl::Status RemoveTree(const std::string& path, TreeOwner owner) override {
    MUSTER_RETURN_IF_ERROR(Admit(path));
    return files_.RemoveTree(path, owner);
  }
  absl::Status CheckOwnDirectory(const std::string& path) override {
    return files_.CheckOwnDirectory(path);
  }
  absl::StatusOr<uint64_t> FreeBytes(const std::string& path) override {
    return files_.FreeBytes(path);
  }

 private:
  class FailingFile final : public WritableFile {
   public:
    FailingFile(std::unique_ptr<WritableFile> file, std::string path, FailingFiles& files)
        : file_(std::move(file)), path_(std::move(path)), files_(files) {}
    absl::Status Append(std::string_view bytes) override {
      MUSTER_RETURN_IF_ERROR(files_.Admit(path_));
      return file_->Append(bytes);
    }
    absl::Status Sync() override {
      MUSTER_RETURN_IF_ERROR(files_.Admit(path_));
      return file_->Sync();
    }
    absl::Status Close() override { return file_->Close(); }

   private:
    const std::unique_ptr<WritableFile> file_;
    const std::string path_;
    FailingFiles& files_;
  };

  absl::Status Admit(const std::string& path) {
    const int64_t change = made_++;
    if (change < first_ || change > last_) return absl::OkStatus();
    return absl::ResourceExhaustedError(path + ": no space left on device");
  }

  Files& files_;
  int64_t made_ = 0;
  int64_t first_ = INT64_MAX;
  int64_t last_ = INT64_MAX;
};

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_FAILING_FILES_H_
