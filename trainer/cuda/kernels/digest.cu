#include "trainer/cuda/kernels/digest.h"

#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"
#include "trainer/random/philox.h"

namespace muster::trainer::cuda {
namespace {

struct Digest {
  static constexpr int kThreads = 256;
  struct Shared {
    uint64_t scratch[kThreads / kWarp];
  };

  const uint32_t* words;
  int64_t count;
  int64_t* sums;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const int64_t pairs = (count + 1) / 2, stride = thread.blocks() * kThreads;
    uint64_t sum = 0;
    for (int64_t i = thread.block() * kThreads + thread.index(); i < pairs; i += stride) {
      const uint64_t low = words[2 * i], high = 2 * i + 1 < count ? words[2 * i + 1] : 0;
      sum += MixKey((high << 32 | low) ^ MixKey(static_cast<uint64_t>(i)));
    }
    sum = BlockSum<kThreads>(thread, sum, shared.scratch);
    if (thread.index() == 0) sums[thread.block()] = static_cast<int64_t>(sum);
  }
};

}  // namespace

int64_t DigestSums(int64_t words) { return BlocksFor((words + 1) / 2, Digest::kThreads); }

LaunchResult LaunchDigest(const uint32_t* words, int64_t count, int64_t* sums, Stream stream) {
  return Launch(Digest{words, count, sums}, DigestSums(count), stream);
}

}  // namespace muster::trainer::cuda
