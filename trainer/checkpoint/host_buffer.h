#ifndef MUSTER_TRAINER_CHECKPOINT_HOST_BUFFER_H_
#define MUSTER_TRAINER_CHECKPOINT_HOST_BUFFER_H_

#include <cstddef>

#include "absl/status/status.h"

namespace muster::trainer {

// Memory for the host copy of a snapshot, made to be filled once and used again: it is not
// initialised, lies on large pages where the system has them, and only grows. The system gives a
// page when it is first written, which takes far longer than the copy itself; Populate has them
// given before. Not thread-safe.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  ~HostBuffer();

  // At least `bytes` from now on; what was in it is lost if it had to grow. ResourceExhausted, with
  // the size, when the machine has no room: then it is empty.
  absl::Status Reserve(size_t bytes);
  // Has the pages of the next `most` bytes given; what is in them stays. False when all are there.
  bool Populate(size_t most);
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void Release();

  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t populated_ = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_HOST_BUFFER_H_
