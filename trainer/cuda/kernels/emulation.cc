#include "trainer/cuda/kernels/emulation.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

namespace muster::trainer::cuda {
namespace {

constexpr int kLanes = 32;
constexpr size_t kStackBytes = 64 << 10;

thread_local ThreadOrder thread_order = ThreadOrder::kAscending;

enum class State { kReady, kAtWarp, kAtBlock, kEnded };

// The first switch to a fiber uses its ucontext, which gives it a stack; the later ones use jumps,
// which need no system call.
struct Fiber {
  ucontext_t context = {};
  jmp_buf at = {};
  bool started = false;
  State state = State::kReady;
  uint64_t given = 0;
};

// Returns the stack of a thread's fiber, which its next launch takes again: each page of new memory
// would cost a fault, and a launch is over sooner than its stacks are new.
unsigned char* StackOf(size_t index) {
  thread_local std::vector<std::unique_ptr<unsigned char[]>> stacks;
  while (stacks.size() <= index) {
    stacks.push_back(std::make_unique_for_overwrite<unsigned char[]>(kStackBytes));
  }
  return stacks[index].get();
}

[[noreturn]] void Die(const char* what, int64_t block) {
  std::fprintf(stderr, "emulated kernel: block %lld: %s\n", static_cast<long long>(block), what);
  std::abort();
}

}  // namespace

class BlockEmulation {
 public:
  BlockEmulation(int threads, const std::function<void(const Thread&)>& body)
      : fibers_(static_cast<size_t>(threads)), body_(body), order_(fibers_.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    if (thread_order == ThreadOrder::kDescending) std::reverse(order_.begin(), order_.end());
  }

  void Run(int64_t block, int64_t blocks) {
    block_ = block;
    blocks_ = blocks;
    for (Fiber& fiber : fibers_) fiber.state = State::kReady;
    while (true) {
      Advance();
      if (All(State::kEnded)) return;
      if (All(State::kAtBlock)) {
        for (Fiber& fiber : fibers_) fiber.state = State::kReady;
      } else if (std::any_of(fibers_.begin(), fibers_.end(),
                             [](const Fiber& f) { return f.state == State::kAtWarp; })) {
        ReleaseWarps();
      } else {
        Die("not all threads reach Sync()", block_);
      }
    }
  }

  void Yield(int index, State state) {
    Fiber& fiber = fibers_[static_cast<size_t>(index)];
    fiber.state = state;
    if (_setjmp(fiber.at) == 0) _longjmp(scheduler_, 1);
  }
  uint64_t& given(int index) { return fibers_[static_cast<size_t>(index)].given; }

 private:
  // A fiber lives as long as the launch, and runs the same thread of one block after another.
  static void Enter() {
    BlockEmulation* const self = current_;
    const auto index = static_cast<int>(self->running_);
    while (true) {
      const Thread thread(self, index, static_cast<int>(self->fibers_.size()), self->block_,
                          self->blocks_);
      self->body_(thread);
      self->Yield(index, State::kEnded);
    }
  }

  __attribute__((noinline)) void SwitchTo(size_t index) {
    Fiber& fiber = fibers_[index];
    current_ = this;
    running_ = index;
    if (_setjmp(scheduler_) != 0) return;
    if (fiber.started) _longjmp(fiber.at, 1);
    fiber.started = true;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = StackOf(index);
    fiber.context.uc_stack.ss_size = kStackBytes;
    makecontext(&fiber.context, &BlockEmulation::Enter, 0);
    setcontext(&fiber.context);
  }

  // Lets every ready thread run until it waits or ends.
  void Advance() {
    if (thread_order == ThreadOrder::kShuffled) std::shuffle(order_.begin(), order_.end(), dice_);
    for (const size_t index : order_) {
      if (fibers_[index].state == State::kReady) SwitchTo(index);
    }
  }

  bool All(State state) const {
    return std::all_of(fibers_.begin(), fibers_.end(),
                       [&](const Fiber& fiber) { return fiber.state == state; });
  }

  void ReleaseWarps() {
    for (size_t begin = 0; begin < fibers_.size(); begin += kLanes) {
      const auto first = fibers_.begin() + static_cast<int64_t>(begin);
      const auto waiting = std::count_if(
          first, first + kLanes, [](const Fiber& fiber) { return fiber.state == State::kAtWarp; });
      if (waiting == 0) continue;
      if (waiting != kLanes) Die("not all lanes of a warp reach a shuffle", block_);
      std::for_each(first, first + kLanes, [](Fiber& fiber) { fiber.state = State::kReady; });
    }
  }

  static thread_local BlockEmulation* current_;

  std::vector<Fiber> fibers_;
  const std::function<void(const Thread&)>& body_;
  std::vector<size_t> order_;
  std::mt19937 dice_{7};
  jmp_buf scheduler_ = {};
  size_t running_ = 0;
  int64_t block_ = 0;
  int64_t blocks_ = 0;
};

thread_local BlockEmulation* BlockEmulation::current_ = nullptr;

void SetEmulatedThreadOrder(ThreadOrder order) { thread_order = order; }

void Thread::Sync() const { emulation_->Yield(index_, State::kAtBlock); }

uint64_t Thread::ExchangeBits(uint64_t bits, int from) const {
  emulation_->given(index_) = bits;
  emulation_->Yield(index_, State::kAtWarp);
  const uint64_t received = emulation_->given(from);
  emulation_->Yield(index_, State::kAtWarp);
  return received;
}

void EmulateThreads(int64_t blocks, int threads, const std::function<void()>& before_block,
                    const std::function<void(const Thread&)>& body) {
  BlockEmulation emulation(threads, body);
  for (int64_t block = 0; block < blocks; ++block) {
    before_block();
    emulation.Run(block, blocks);
  }
}

}  // namespace muster::trainer::cuda
