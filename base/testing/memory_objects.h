#ifndef MUSTER_BASE_TESTING_MEMORY_OBJECTS_H_
#define MUSTER_BASE_TESTING_MEMORY_OBJECTS_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/mutex.h"

namespace muster {

// Files as an object store has them, in memory, for tests: see IsObjectStore() in
// base/files/files.h. Thread-safe.
class MemoryObjects final : public Files {
 public:
  absl::StatusOr<FileInfo> Stat(const std::string& path) override {
    MutexLock lock(mu_);
    if (const auto found = objects_.find(path); found != objects_.end()) {
      return FileInfo{FileKind::kFile, found->second.size()};
    }
    if (IsDirectory(path)) return FileInfo{FileKind::kDirectory, 0};
    return absl::NotFoundError(absl::StrCat(path, ": does not exist"));
  }

  absl::StatusOr<std::vector<DirectoryEntry>> List(const std::string& directory) override {
    MutexLock lock(mu_);
    if (!IsDirectory(directory)) {
      return absl::NotFoundError(absl::StrCat(directory, ": does not exist"));
    }
    std::map<std::string, DirectoryEntry> entries;
    const std::string prefix = directory + "/";
    for (auto it = objects_.lower_bound(prefix);
         it != objects_.end() && it->first.starts_with(prefix); ++it) {
      const std::string rest = it->first.substr(prefix.size());
      const std::string name = rest.substr(0, rest.find('/'));
      const bool deeper = name.size() < rest.size();
      entries[name] = deeper ? DirectoryEntry{name, FileKind::kDirectory}
                             : DirectoryEntry{name, FileKind::kFile, it->second.size()};
    }
    std::vector<DirectoryEntry> out;
    for (auto& [name, entry] : entries) out.push_back(std::move(entry));
    return out;
  }

  absl::StatusOr<std::unique_ptr<ReadableFile>> Open(const std::string& path) override {
    MutexLock lock(mu_);
    const auto found = objects_.find(path);
    if (found != objects_.end()) return std::make_unique<Reader>(found->second, path);
    if (IsDirectory(path)) {
      return absl::FailedPreconditionError(absl::StrCat(path, ": is a directory, not a file"));
    }
    return absl::NotFoundError(absl::StrCat(path, ": does not exist"));
  }

  absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) override {
    MutexLock lock(mu_);
    const auto found = objects_.find(path);
    if (found != objects_.end()) return std::make_unique<Copy>(found->second);
    return absl::NotFoundError(absl::StrCat(path, ": does not exist"));
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                       CreateMode mode) override {
    if (mode == CreateMode::kAppend) {
      return absl::UnimplementedError(absl::StrCat(path, ": an object cannot be appended to"));
    }
    return std::make_unique<Writer>(*this, path, mode == CreateMode::kExclusive);
  }

  absl::Status MakeDirectories(const std::string&) override { return absl::OkStatus(); }
  absl::Status Rename(const std::string& from, const std::string&) override {
    return absl::UnimplementedError(absl::StrCat(from, ": an object cannot be renamed"));
  }
  absl::Status Remove(const std::string& path) override {
    MutexLock lock(mu_);
    if (objects_.erase(path) > 0) return absl::OkStatus();
    if (IsDirectory(path)) return absl::AlreadyExistsError(absl::StrCat(path, ": is not empty"));
    return absl::NotFoundError(absl::StrCat(path, ": does not exist"));
  }
  absl::Status SyncDirectory(const std::string&) override { return absl::OkStatus(); }
  absl::StatusOr<uint64_t> FreeBytes(const std::string&) override {
    return std::numeric_limits<uint64_t>::max();
  }
  absl::Status CheckOwnDirectory(const std::string&) override { return absl::OkStatus(); }
  absl::Status RemoveTree(const std::string& path, TreeOwner) override {
    MutexLock lock(mu_);
    std::erase_if(objects_, [&path](const auto& object) {
      return object.first == path || object.first.starts_with(path + "/");
    });
    return absl::OkStatus();
  }
  bool IsObjectStore() const override { return true; }

 private:
  class Reader final : public ReadableFile {
   public:
    Reader(std::string bytes, std::string path)
        : bytes_(std::move(bytes)), path_(std::move(path)) {}
    uint64_t size() const override { return bytes_.size(); }
    absl::Status Read(uint64_t offset, char* into, size_t size) const override {
      if (offset > bytes_.size() || size > bytes_.size() - offset) {
        return absl::OutOfRangeError(absl::StrCat(path_, ": ends before that"));
      }
      bytes_.copy(into, size, offset);
      return absl::OkStatus();
    }

   private:
    const std::string bytes_, path_;
  };

  class Copy final : public MappedFile {
   public:
    explicit Copy(std::string bytes) : bytes_(std::move(bytes)) {}
    std::string_view bytes() const override { return bytes_; }

   private:
    const std::string bytes_;
  };

  class Writer final : public WritableFile {
   public:
    Writer(MemoryObjects& objects, std::string path, bool exclusive)
        : objects_(objects), path_(std::move(path)), exclusive_(exclusive) {}
    absl::Status Append(std::string_view bytes) override {
      bytes_.append(bytes);
      return absl::OkStatus();
    }
    absl::Status Sync() override { return absl::OkStatus(); }
    absl::Status Close() override {
      MutexLock lock(objects_.mu_);
      if (exclusive_ && objects_.objects_.count(path_) > 0) {
        return absl::AlreadyExistsError(absl::StrCat(path_, ": exists already"));
      }
      objects_.objects_[path_] = bytes_;
      return absl::OkStatus();
    }

   private:
    MemoryObjects& objects_;
    const std::string path_;
    const bool exclusive_;
    std::string bytes_;
  };

  bool IsDirectory(const std::string& path) const MUSTER_REQUIRES(mu_) {
    const auto next = objects_.lower_bound(path + "/");
    return next != objects_.end() && next->first.starts_with(path + "/");
  }

  Mutex mu_;
  std::map<std::string, std::string> objects_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_MEMORY_OBJECTS_H_
