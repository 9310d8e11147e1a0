#ifndef MUSTER_TRAINER_OFFLOAD_MEMORY_STATE_FILES_H_
#define MUSTER_TRAINER_OFFLOAD_MEMORY_STATE_FILES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "trainer/offload/state_file.h"

namespace muster::trainer {

// A disk in memory, for tests, with a capacity and with reads and writes that fail on request. It
// must outlive its files.
class MemoryStateFiles final : public StateFiles {
 public:
  absl::StatusOr<std::unique_ptr<StateFile>> Create(const std::string& directory,
                                                    uint64_t size) override {
    MutexLock lock(mu_);
    if (size > capacity_ - used_) {
      return absl::ResourceExhaustedError(absl::StrCat(directory, " has no room: ", size,
                                                       " bytes are needed, and ", capacity_ - used_,
                                                       " are available"));
    }
    used_ += size;
    most_used_ = std::max(most_used_, used_);
    return std::make_unique<File>(*this, size);
  }

  void SetCapacity(uint64_t bytes) {
    MutexLock lock(mu_);
    capacity_ = bytes;
  }
  // Makes the reads and writes after the next `operations` ones fail, until it is called again;
  // negative: none fails.
  void FailAfter(int64_t operations) {
    MutexLock lock(mu_);
    left_ = operations;
  }
  // Returns the reads and writes so far.
  int64_t operations() const {
    MutexLock lock(mu_);
    return operations_;
  }
  // Returns the bytes of the files that live, and of those that lived at once at most.
  uint64_t used() const {
    MutexLock lock(mu_);
    return used_;
  }
  uint64_t most_used() const {
    MutexLock lock(mu_);
    return most_used_;
  }

 private:
  class File final : public StateFile {
   public:
    File(MemoryStateFiles& disk, uint64_t size) : disk_(disk), bytes_(size) {}
    ~File() override {
      MutexLock lock(disk_.mu_);
      disk_.used_ -= bytes_.size();
    }
    uint64_t size() const override { return bytes_.size(); }
    absl::Status Read(uint64_t offset, std::span<std::byte> into) const override {
      if (absl::Status status = Admit(offset, into.size(), "read"); !status.ok()) return status;
      std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
      return absl::OkStatus();
    }
    absl::Status Write(uint64_t offset, std::span<const std::byte> from) override {
      if (absl::Status status = Admit(offset, from.size(), "write"); !status.ok()) return status;
      std::copy(from.begin(), from.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
      return absl::OkStatus();
    }

   private:
    absl::Status Admit(uint64_t offset, size_t bytes, const char* what) const {
      if (offset > bytes_.size() || bytes > bytes_.size() - offset) {
        return absl::OutOfRangeError(
            absl::StrCat(bytes, " bytes at ", offset, " are not within a file of ", bytes_.size()));
      }
      MutexLock lock(disk_.mu_);
      ++disk_.operations_;
      if (disk_.left_ == 0) {
        return absl::UnavailableError(absl::StrCat("cannot ", what, ": the disk fails"));
      }
      if (disk_.left_ > 0) --disk_.left_;
      return absl::OkStatus();
    }

    MemoryStateFiles& disk_;
    std::vector<std::byte> bytes_;
  };

  mutable Mutex mu_;
  uint64_t capacity_ MUSTER_GUARDED_BY(mu_) = std::numeric_limits<uint64_t>::max();
  uint64_t used_ MUSTER_GUARDED_BY(mu_) = 0;
  uint64_t most_used_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t left_ MUSTER_GUARDED_BY(mu_) = -1;
  int64_t operations_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OFFLOAD_MEMORY_STATE_FILES_H_
