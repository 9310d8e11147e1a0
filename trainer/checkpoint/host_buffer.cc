#include "trainer/checkpoint/host_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;

}  // namespace

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      populated_(std::exchange(other.populated_, 0)) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(populated_, other.populated_);
  return *this;
}

HostBuffer::~HostBuffer() { Release(); }

absl::Status HostBuffer::Reserve(size_t bytes) {
  if (bytes <= size_) return absl::OkStatus();
  Release();
  void* data = MAP_FAILED;
  size_t rounded = 0;
  if (bytes <= SIZE_MAX - kLargePage) {
    rounded = (bytes + kLargePage - 1) / kLargePage * kLargePage;
    data = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a copy of ", bytes, " bytes of tensors"));
  }
  (void)madvise(data, rounded, MADV_HUGEPAGE);  // advice: 512 times fewer faults in the first copy
  data_ = static_cast<std::byte*>(data);
  size_ = rounded;
  return absl::OkStatus();
}

bool HostBuffer::Populate(size_t most) {
  const size_t bytes = std::min(most, size_ - populated_);
  if (bytes == 0) return false;
  // Kernels before 5.14 lack this: there the first copy stays slow.
  if (madvise(data_ + populated_, bytes, MADV_POPULATE_WRITE) != 0) {
    populated_ = size_;
    return false;
  }
  populated_ += bytes;
  return true;
}

void HostBuffer::Release() {
  if (data_ != nullptr) munmap(data_, size_);
  data_ = nullptr;
  size_ = 0;
  populated_ = 0;
}

}  // namespace muster::trainer
