#include "trainer/data/sample_order.h"

#include <bit>

namespace muster::trainer {
namespace {

// SplitMix64's finaliser: a cheap bijection that mixes every bit into every other.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

constexpr uint64_t kRounds = 8;

}  // namespace

Permutation::Permutation(uint64_t size, uint64_t key) : size_(size), key_(key) {
  half_bits_ = (std::bit_width(size - 1) + 1) / 2;
}

uint64_t Permutation::Encrypt(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_, right = value & mask;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ (Mix(right ^ Mix(key_ + round)) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

uint64_t Permutation::operator()(uint64_t index) const {
  if (size_ <= 1) return 0;
  // A quarter of the values or more lie inside, so the walk is short.
  do {
    index = Encrypt(index);
  } while (index >= size_);
  return index;
}

uint64_t SampleOrder::SequenceAt(uint64_t position) const {
  const uint64_t epoch = position / sequences_;
  return Permutation(sequences_, Mix(seed_) ^ Mix(~epoch))(position % sequences_);
}

}  // namespace muster::trainer
