#ifndef MUSTER_TRAINER_CHECKPOINT_HOST_BUFFER_H_
#define MUSTER_TRAINER_CHECKPOINT_HOST_BUFFER_H_

#include <cstddef>

#include "absl/status/status.h"

namespace muster::trainer {

// Memory for the host copy of a snapshot, made to be filled once and used again: it is not
// initialised, lies on large pages where the system has them, and only grows. The system supplies a
// page when it is first written, which takes far longer than the copy itself; Populate has pages
// supplied before. Not thread-safe.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  ~HostBuffer();

  // Makes the buffer hold at least `bytes`. Its contents are lost if it has to grow.
  // ResourceExhausted, with the size, if the machine has no room; the buffer is then empty.
  absl::Status Reserve(size_t bytes);
  // Has the pages of the next `most` bytes supplied and keeps their contents. Returns false if all
  // are there, or if the kernel cannot do it.
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
