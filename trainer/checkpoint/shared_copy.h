#ifndef MUSTER_TRAINER_CHECKPOINT_SHARED_COPY_H_
#define MUSTER_TRAINER_CHECKPOINT_SHARED_COPY_H_

#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include "base/mutex.h"

namespace muster::trainer {

// A copy of memory that threads do together: one begins in the background, and who needs the source
// back helps it. Add() is called before the copy is shared; the rest is thread-safe.
class SharedCopy {
 public:
  // Both must stay until Finish() has returned in some thread.
  void Add(std::span<const std::byte> from, std::byte* into);
  // Copies what no other thread has begun, and returns when everything is copied.
  void Finish();

 private:
  struct Part {
    const std::byte* from;
    std::byte* into;
    size_t bytes;
  };

  std::vector<Part> parts_;
  std::atomic<size_t> next_ = 0;
  Mutex mu_;
  CondVar changed_;
  size_t copied_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_SHARED_COPY_H_
