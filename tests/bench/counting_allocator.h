#ifndef MUSTER_TESTS_BENCH_COUNTING_ALLOCATOR_H_
#define MUSTER_TESTS_BENCH_COUNTING_ALLOCATOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "c10/core/Allocator.h"

namespace muster::trainer {

// Counts the memory that this process's tensors on the CPU have, from Install() on. Thread-safe.
class CountingAllocator final : public c10::Allocator {
 public:
  // Makes LibTorch allocate through an instance that lives as long as the process, and returns it.
  static CountingAllocator& Install();

  c10::DataPtr allocate(size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, std::size_t count) const override;

  int64_t bytes() const { return bytes_; }
  // Returns the most bytes there were at once since the last ResetPeak().
  int64_t peak() const { return peak_; }
  void ResetPeak() { peak_ = bytes_.load(); }

 private:
  explicit CountingAllocator(c10::Allocator& inner) : inner_(inner) {}
  static void Free(void* data);
  void Add(int64_t bytes);

  c10::Allocator& inner_;
  std::atomic<int64_t> bytes_ = 0, peak_ = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_BENCH_COUNTING_ALLOCATOR_H_
