#ifndef MUSTER_TRAINER_CUDA_KERNELS_EMULATION_H_
#define MUSTER_TRAINER_CUDA_KERNELS_EMULATION_H_

#include <cstdint>
#include <cstring>
#include <functional>

namespace muster::trainer::cuda {

// Runs kernels on the CPU, so that tests prove the text that a card executes: indices, barriers,
// shuffles, shared memory. The threads of a block are fibers; each runs alone until it meets the
// others, in an order that tests choose, so that a kernel that lacks a barrier gives other results.
// A block whose threads do not all reach a barrier ends the process with a sentence, where a card
// would hang. It says nothing about speed, memory that is not aligned, or the card's own exp and
// log.

class BlockEmulation;

// The orders in which threads run between two barriers.
enum class ThreadOrder { kAscending, kDescending, kShuffled };

// Applies to kernels that this thread launches afterwards.
void SetEmulatedThreadOrder(ThreadOrder order);

class Thread {
 public:
  Thread(BlockEmulation* emulation, int index, int threads, int64_t block, int64_t blocks)
      : emulation_(emulation), index_(index), threads_(threads), block_(block), blocks_(blocks) {}

  int index() const { return index_; }
  int threads() const { return threads_; }
  int64_t block() const { return block_; }
  int64_t blocks() const { return blocks_; }
  void Sync() const;
  template <typename T>
  T ShuffleXor(T value, int mask) const {
    static_assert(sizeof(T) <= sizeof(uint64_t));
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = ExchangeBits(bits, index_ ^ mask);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }

 private:
  // Waits for the warp, and returns what the thread `from` gave.
  uint64_t ExchangeBits(uint64_t bits, int from) const;

  BlockEmulation* emulation_;
  int index_;
  int threads_;
  int64_t block_;
  int64_t blocks_;
};

// Runs `body` once for each thread of each block, block after block.
void EmulateThreads(int64_t blocks, int threads, const std::function<void()>& before_block,
                    const std::function<void(const Thread&)>& body);

// Gives each block shared memory that holds nothing of use: NaN, or absurd numbers.
template <typename Shared, typename Body>
void EmulateBlocks(int64_t blocks, int threads, const Body& body) {
  alignas(alignof(Shared)) static thread_local unsigned char memory[sizeof(Shared)];
  auto* shared = reinterpret_cast<Shared*>(memory);
  EmulateThreads(
      blocks, threads, [] { std::memset(memory, 0xff, sizeof(memory)); },
      [&](const Thread& thread) { body(thread, *shared); });
}

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_EMULATION_H_
