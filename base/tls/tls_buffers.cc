#include "base/tls/tls_buffers.h"

#include <openssl/crypto.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/mutex.h"

namespace muster {
namespace {

// OpenSSL's request for one buffer fits into five pages.
constexpr size_t kSmallest = 16 << 10;
constexpr size_t kSlot = 20 << 10;
// Address space, not memory. Buffers that do not fit come from the heap.
constexpr size_t kSlots = 64 << 10;

class SlotPool {
 public:
  SlotPool() {
    void* space = mmap(nullptr, kSlot * kSlots, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space != MAP_FAILED) base_ = static_cast<char*>(space);
  }

  bool Owns(const void* p) const {
    const auto* at = static_cast<const char*>(p);
    return base_ != nullptr && at >= base_ && at < base_ + kSlot * kSlots;
  }
  // Returns null if none is left.
  void* Take() {
    MutexLock lock(mu_);
    if (!free_.empty()) {
      const uint32_t slot = free_.back();
      free_.pop_back();
      return base_ + slot * kSlot;
    }
    return base_ != nullptr && fresh_ < kSlots ? base_ + kSlot * fresh_++ : nullptr;
  }
  void Return(void* p) {
    madvise(p, kSlot, MADV_DONTNEED);
    MutexLock lock(mu_);
    free_.push_back(static_cast<uint32_t>((static_cast<char*>(p) - base_) / kSlot));
  }

 private:
  char* base_ = nullptr;
  Mutex mu_;
  std::vector<uint32_t> free_ MUSTER_GUARDED_BY(mu_);
  size_t fresh_ MUSTER_GUARDED_BY(mu_) = 0;
};

// Lives forever: OpenSSL frees memory at exit.
SlotPool& Pool() {
  static auto& pool = *new SlotPool;
  return pool;
}

void* Allocate(size_t size, const char*, int) {
  if (size >= kSmallest && size <= kSlot) {
    if (void* slot = Pool().Take()) return slot;
  }
  return std::malloc(size);
}

void Free(void* p, const char*, int) { Pool().Owns(p) ? Pool().Return(p) : std::free(p); }

void* Reallocate(void* p, size_t size, const char* file, int line) {
  if (!Pool().Owns(p)) return std::realloc(p, size);
  void* moved = size == 0 ? nullptr : Allocate(size, file, line);
  if (moved != nullptr) std::memcpy(moved, p, std::min(size, kSlot));
  if (moved != nullptr || size == 0) Free(p, file, line);
  return moved;
}

}  // namespace

bool InstallTlsBuffers() { return CRYPTO_set_mem_functions(Allocate, Reallocate, Free) == 1; }

}  // namespace muster
