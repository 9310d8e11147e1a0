#ifndef MUSTER_TRAINER_CUDA_KERNELS_DEVICE_MEMORY_H_
#define MUSTER_TRAINER_CUDA_KERNELS_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::trainer::cuda {

// Memory where kernels of tests run: a card's, or in emulation the heap. An error ends the process
// with a sentence.

// Returns memory whose bytes are all 0xff, which is NaN in every floating-point type.
void* AllocatePoisoned(size_t bytes);
void FreeMemory(void* memory);
void CopyToDevice(const void* from, size_t bytes, void* to);
// Waits for all work of the default stream first.
void CopyToHost(const void* from, size_t bytes, void* to);

// Chooses one of kThreadOrders orders in which an emulated block's threads run from now on. A card
// runs them as it likes.
inline constexpr int kThreadOrders = 3;
void UseThreadOrder(int order);

// An array on the device, poisoned until something is written to it. `shift` bytes lie before it,
// so that tests try addresses that are not aligned for packs.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(int64_t count, size_t shift = 0)
      : count_(static_cast<size_t>(count)),
        shift_(shift),
        memory_(AllocatePoisoned(shift + count_ * sizeof(T) + kGuard)) {}
  explicit DeviceArray(const std::vector<T>& values, size_t shift = 0)
      : DeviceArray(static_cast<int64_t>(values.size()), shift) {
    CopyToDevice(values.data(), count_ * sizeof(T), data());
  }
  ~DeviceArray() { FreeMemory(memory_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return reinterpret_cast<T*>(static_cast<unsigned char*>(memory_) + shift_); }
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    CopyToHost(data(), count_ * sizeof(T), values.data());
    return values;
  }
  // Tells whether the bytes after the array are as they were.
  bool GuardHolds() const {
    std::vector<unsigned char> guard(kGuard);
    CopyToHost(data() + count_, kGuard, guard.data());
    for (const unsigned char byte : guard) {
      if (byte != 0xff) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kGuard = 256;

  const size_t count_;
  const size_t shift_;
  void* const memory_;
};

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_DEVICE_MEMORY_H_
