#include "trainer/cuda/kernels/digest.h"

#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"
#include "trainer/random/philox.h"

namespace muster::trainer::cuda {
namespace {

// Tells equal pairs of words at two places apart: 2^64 by the golden ratio, as Weyl's sequence has
// it.
constexpr uint64_t kStep = 0x9E3779B97F4A7C15;

struct Digest {
  static constexpr int kThreads = 256;
  struct Shared {
    uint64_t scratch[kThreads / kWarp];
  };

  const uint32_t* words;
  int64_t count;
  bool aligned;  // pairs of words can be read at once
  int64_t* sums;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const int64_t pairs = (count + 1) / 2, stride = thread.blocks() * kThreads;
    uint64_t sum = 0;
    for (int64_t i = thread.block() * kThreads + thread.index(); i < pairs; i += stride) {
      sum += MixKey(PairAt(i) ^ static_cast<uint64_t>(i) * kStep);
    }
    sum = BlockSum<kThreads>(thread, sum, shared.scratch);
    if (thread.index() == 0) sums[thread.block()] = static_cast<int64_t>(sum);
  }

  MUSTER_DEVICE uint64_t PairAt(int64_t i) const {
    if (aligned && 2 * i + 1 < count) return reinterpret_cast<const uint64_t*>(words)[i];
    const uint64_t low = words[2 * i], high = 2 * i + 1 < count ? words[2 * i + 1] : 0;
    return high << 32 | low;
  }
};

}  // namespace

int64_t DigestSums(int64_t words) { return BlocksFor((words + 1) / 2, Digest::kThreads); }

LaunchResult LaunchDigest(const uint32_t* words, int64_t count, int64_t* sums, Stream stream) {
  const bool aligned = reinterpret_cast<uintptr_t>(words) % sizeof(uint64_t) == 0;
  return Launch(Digest{words, count, aligned, sums}, DigestSums(count), stream);
}

}  // namespace muster::trainer::cuda
