#include "trainer/device/testing/fake_streams.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "c10/util/Exception.h"

namespace muster::trainer {
namespace {

// One thread's view of the streams.
struct ThreadStreams {
  c10::StreamId current = 0;
  int64_t work = 0;  // done on the default stream
  int64_t seen = 0;  // of it, that the pool's stream waits for
};

ThreadStreams& OfThread() {
  thread_local ThreadStreams streams;
  return streams;
}

}  // namespace

c10::DataPtr FakePinnedMemory::allocate(size_t bytes) {
  void* const memory = std::aligned_alloc(64, (bytes + 64) / 64 * 64);
  MutexLock lock(mu_);
  blocks_[reinterpret_cast<uintptr_t>(memory)] = bytes;
  return {memory, memory, &Free, c10::Device(c10::DeviceType::CPU)};
}

c10::DeleterFnPtr FakePinnedMemory::raw_deleter() const { return &Free; }

void FakePinnedMemory::copy_data(void* to, const void* from, size_t bytes) const {
  default_copy_data(to, from, bytes);
}

bool FakePinnedMemory::Has(const void* address) const {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  MutexLock lock(mu_);
  const auto after = blocks_.upper_bound(wanted);
  if (after == blocks_.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return wanted < begin + std::max(bytes, size_t{1});
}

void FakePinnedMemory::Free(void* address) {
  FakePinnedMemory& memory = PinnedMemoryOfFakeDevice();
  {
    MutexLock lock(memory.mu_);
    memory.blocks_.erase(reinterpret_cast<uintptr_t>(address));
  }
  std::free(address);
}

FakePinnedMemory& PinnedMemoryOfFakeDevice() {
  static auto* const memory = new FakePinnedMemory;
  return *memory;
}

c10::StreamId FakeStreams::current() const { return OfThread().current; }

c10::StreamId FakeStreams::Exchange(c10::StreamId stream) {
  return std::exchange(OfThread().current, stream);
}

void FakeStreams::CheckOrder() const {
  const ThreadStreams& thread = OfThread();
  TORCH_CHECK(thread.current != kPool || thread.seen == thread.work,
              "the fake device's stream does not wait for what another has to do before it");
}

void FakeStreams::NoteWork() {
  if (OfThread().current != kPool) ++OfThread().work;
}

void FakeStreams::CopyLater(const at::Tensor& to, const at::Tensor& from) {
  TORCH_CHECK(to.is_contiguous() && to.sizes() == from.sizes(), "a copy of other sizes");
  std::memset(to.mutable_data_ptr(), 0xff, to.nbytes());
  MutexLock lock(mu_);
  waiting_.push_back({++copies_, to, from});
}

void FakeStreams::Record(void** event, c10::StreamId stream) {
  if (*event == nullptr) *event = new Event;
  auto* const recorded = static_cast<Event*>(*event);
  MutexLock lock(mu_);
  recorded->copy = stream == kPool ? copies_ : 0;
  recorded->work = OfThread().work;
}

void FakeStreams::Block(void* event, c10::StreamId stream) {
  if (stream == kPool) {
    OfThread().seen = std::max(OfThread().seen, static_cast<Event*>(event)->work);
  } else {
    Synchronize(event);
  }
}

bool FakeStreams::Synchronize(void* event) {
  MutexLock lock(mu_);
  bool waited = false;
  while (!waiting_.empty() && waiting_.front().number <= static_cast<Event*>(event)->copy) {
    waiting_.front().to.copy_(waiting_.front().from);
    waiting_.pop_front();
    waited = true;
  }
  return waited;
}

void FakeStreams::Destroy(void* event) { delete static_cast<Event*>(event); }

FakeStreams& StreamsOfFakeDevice() {
  static auto* const streams = new FakeStreams;
  return *streams;
}

}  // namespace muster::trainer
