#ifndef MUSTER_TRAINER_DEVICE_TESTING_FAKE_STREAMS_H_
#define MUSTER_TRAINER_DEVICE_TESTING_FAKE_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "ATen/core/Tensor.h"
#include "base/mutex.h"
#include "c10/core/Allocator.h"
#include "c10/core/Stream.h"

namespace muster::trainer {

// Memory of the host that the fake device reads and writes while the host does something else.
// Thread-safe.
class FakePinnedMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* to, const void* from, size_t bytes) const override;
  // Returns true for an address inside of it.
  bool Has(const void* address) const;

 private:
  static void Free(void* address);

  mutable Mutex mu_;
  std::map<uintptr_t, size_t> blocks_ MUSTER_GUARDED_BY(mu_);  // bytes by address
};

FakePinnedMemory& PinnedMemoryOfFakeDevice();

// The streams of the fake device: the default one, whose work is done at once, and one from the
// pool, whose copies to the host are done when somebody waits for them. Each thread has its own
// order of the two. Thread-safe.
class FakeStreams {
 public:
  static constexpr c10::StreamId kPool = 1;

  // The calling thread's current stream.
  c10::StreamId current() const;
  c10::StreamId Exchange(c10::StreamId stream);

  // Call before and after work on the current stream. The first fails if that is the pool's and
  // does not wait for what the thread has done on the default one.
  void CheckOrder() const;
  void NoteWork();
  // Has the elements copied on the pool's stream; until then the bytes of `to` are 0xff.
  void CopyLater(const at::Tensor& to, const at::Tensor& from) MUSTER_EXCLUDES(mu_);

  // As DeviceGuardImplInterface has them.
  void Record(void** event, c10::StreamId stream) MUSTER_EXCLUDES(mu_);
  void Block(void* event, c10::StreamId stream);
  // Returns whether there was something to wait for.
  bool Synchronize(void* event) MUSTER_EXCLUDES(mu_);
  static void Destroy(void* event);

 private:
  struct Event {
    int64_t copy = 0;  // the last copy before it
    int64_t work = 0;  // of the default stream, done by the recording thread before it
  };
  struct Copy {
    int64_t number = 0;
    at::Tensor to, from;
  };

  Mutex mu_;
  int64_t copies_ MUSTER_GUARDED_BY(mu_) = 0;  // asked for so far
  std::deque<Copy> waiting_ MUSTER_GUARDED_BY(mu_);
};

FakeStreams& StreamsOfFakeDevice();

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DEVICE_TESTING_FAKE_STREAMS_H_
