#ifndef MUSTER_TRAINER_CHECKPOINT_HOST_BUFFER_H_
#define MUSTER_TRAINER_CHECKPOINT_HOST_BUFFER_H_

#include <cstddef>

#include "absl/status/status.h"

namespace muster::trainer {

// Memory for the host copy of a snapshot, made to be filled once and used again: it is not
// initialised, lies on large pages where the system has them, and only grows. Not thread-safe.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  ~HostBuffer();

  // At least `bytes` from now on; what was in it is lost if it had to grow. ResourceExhausted, with
  // the size, when the machine has no room: then it is empty.
  absl::Status Reserve(size_t bytes);
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void Release();

  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_HOST_BUFFER_H_
