#ifndef MUSTER_BASE_TESTING_COUNTING_FILES_H_
#define MUSTER_BASE_TESTING_COUNTING_FILES_H_

#include <atomic>
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

// Other files, and the number of bytes that were read from them. Counts only files whose paths end
// in `suffix`, as they are read by Open(); what is mapped is not counted. Thread-safe.
class CountingFiles final : public Files {
 public:
  CountingFiles(Files& files, std::string suffix) : files_(files), suffix_(std::move(suffix)) {}

  // Returns the bytes read since the last call.
  uint64_t TakeCount() { return bytes_.exchange(0); }

  absl::StatusOr<std::unique_ptr<ReadableFile>> Open(const std::string& path) override {
    MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files_.Open(path));
    if (!std::string_view(path).ends_with(suffix_)) return file;
    return std::make_unique<CountedFile>(std::move(file), bytes_);
  }

  absl::StatusOr<FileInfo> Stat(const std::string& path) override { return files_.Stat(path); }
  absl::StatusOr<std::vector<DirectoryEntry>> List(const std::string& directory) override {
    return files_.List(directory);
  }
  absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) override {
    return files_.Map(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                       CreateMode mode) override {
    return files_.Create(path, mode);
  }
  absl::Status MakeDirectories(const std::string& path) override {
    return files_.MakeDirectories(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return files_.Rename(from, to);
  }
  absl::Status Exchange(const std::string& a, const std::string& b) override {
    return files_.Exchange(a, b);
  }
  absl::Status Remove(const std::string& path) override { return files_.Remove(path); }
  absl::Status RemoveTree(const std::string& path, TreeOwner owner) override {
    return files_.RemoveTree(path, owner);
  }
  absl::Status CheckOwnDirectory(const std::string& path) override {
    return files_.CheckOwnDirectory(path);
  }
  absl::Status SyncDirectory(const std::string& directory) override {
    return files_.SyncDirectory(directory);
  }
  absl::StatusOr<uint64_t> FreeBytes(const std::string& path) override {
    return files_.FreeBytes(path);
  }

 private:
  class CountedFile final : public ReadableFile {
   public:
    CountedFile(std::unique_ptr<ReadableFile> file, std::atomic<uint64_t>& bytes)
        : file_(std::move(file)), bytes_(bytes) {}
    uint64_t size() const override { return file_->size(); }
    absl::Status Read(uint64_t offset, char* into, size_t size) const override {
      bytes_ += size;
      return file_->Read(offset, into, size);
    }

   private:
    const std::unique_ptr<ReadableFile> file_;
    std::atomic<uint64_t>& bytes_;
  };

  Files& files_;
  const std::string suffix_;
  std::atomic<uint64_t> bytes_ = 0;
};

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_COUNTING_FILES_H_
