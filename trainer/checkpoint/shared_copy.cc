#include "trainer/checkpoint/shared_copy.h"

#include <algorithm>
#include <cstring>

namespace muster::trainer {
namespace {

// A thread that helps waits for at most one such part of each other thread.
constexpr size_t kPartBytes = size_t{1} << 20;

}  // namespace

void SharedCopy::Add(std::span<const std::byte> from, std::byte* into) {
  for (size_t at = 0; at < from.size(); at += kPartBytes) {
    parts_.push_back({from.data() + at, into + at, std::min(kPartBytes, from.size() - at)});
  }
}

void SharedCopy::Finish() {
  size_t mine = 0;
  for (size_t i = next_++; i < parts_.size(); i = next_++) {
    std::memcpy(parts_[i].into, parts_[i].from, parts_[i].bytes);
    ++mine;
  }
  MutexLock lock(mu_);
  copied_ += mine;
  changed_.NotifyAll();
  while (copied_ < parts_.size()) changed_.Wait(mu_);
}

}  // namespace muster::trainer
