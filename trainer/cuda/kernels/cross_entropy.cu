#include "trainer/cuda/kernels/cross_entropy.h"

#include <cfloat>
#include <cmath>

#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {
namespace {

// Returns exp(x). The card's fast exponential is off by about 2^-22 of it, and takes what is less
// than 2^-126 for 0: a rounding to BF16, the type of the logits it is for, is off by far more.
template <typename T>
MUSTER_DEVICE float Exp(float x) {
  return expf(x);
}
template <>
MUSTER_DEVICE float Exp<__nv_bfloat16>(float x) {
#if defined(__CUDACC__)
  constexpr float kLog2OfE = 1.44269504f;
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * kLog2OfE));
  return power;
#else
  return expf(x);
#endif
}

// A running sum of exp(x), stored as sum * exp(most), where `most` is the largest x: this cannot
// overflow (online softmax; Milakov and Gimelshein, 2018). `most` begins at -FLT_MAX, because
// infinity minus infinity is NaN.
struct ExpSum {
  float most;
  float sum;
};

MUSTER_DEVICE ExpSum Add(const ExpSum& a, const ExpSum& b) {
  const float most = a.most > b.most ? a.most : b.most;
  return {most, a.sum * expf(a.most - most) + b.sum * expf(b.most - most)};
}

// One block per row, which is read twice and written once. The blocks of long rows are as large as
// can be, so that few rows are on their way at a time: the second read then finds them in a card's
// cache.
template <typename T, int kThreadsOfRow>
struct Loss {
  static constexpr int kThreads = kThreadsOfRow;
  struct Shared {
    ExpSum warps[kThreads / kWarp];
  };

  CrossEntropy chunk;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const int64_t row = thread.block();
    T* const logits = static_cast<T*>(chunk.logits) + row * chunk.vocabulary;
    const int64_t label = chunk.labels[row];
    const bool valid = label >= 0 && label < chunk.vocabulary;
    const ExpSum all = SumOfRow(thread, logits, shared);
    if (thread.index() == 0) {
      const float loss = logf(all.sum) + all.most - (valid ? ToFloat(logits[label]) : NAN);
      chunk.losses[row] = label == chunk.ignored ? 0.0f : loss;
    }
    thread.Sync();  // the loss is read before the gradient takes its place
    const float scale = chunk.gradient_scale;
    const float share = scale / all.sum;
    ForEachAligned<kWidePack<T>>(thread.index(), kThreads, logits, chunk.vocabulary,
                                 [&](auto n, int64_t i) {
                                   float v[n];
                                   Load(logits + i, v);
                                   for (int k = 0; k < n; ++k) {
                                     v[k] = valid ? Exp<T>(v[k] - all.most) * share : 0.0f;
                                   }
                                   if (valid && label >= i && label < i + n) {
                                     for (int k = 0; k < n; ++k)
                                       v[k] -= i + k == label ? scale : 0.0f;
                                   }
                                   Store(v, logits + i);
                                 });
  }

  MUSTER_DEVICE ExpSum SumOfRow(const Thread& thread, const T* logits, Shared& shared) const {
    ExpSum mine{-FLT_MAX, 0.0f};
    ForEachAligned<kWidePack<T>>(thread.index(), kThreads, logits, chunk.vocabulary,
                                 [&](auto n, int64_t i) {
                                   float v[n];
                                   Load(logits + i, v);
                                   float most = mine.most;
                                   for (int k = 0; k < n; ++k) most = v[k] > most ? v[k] : most;
                                   mine.sum *= Exp<T>(mine.most - most);
                                   mine.most = most;
                                   for (int k = 0; k < n; ++k) mine.sum += Exp<T>(v[k] - most);
                                 });
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
      mine = Add(mine, {thread.ShuffleXor(mine.most, mask), thread.ShuffleXor(mine.sum, mask)});
    }
    if (thread.index() % kWarp == 0) shared.warps[thread.index() / kWarp] = mine;
    thread.Sync();
    // Each warp adds up the sums of all, in one order.
    static_assert(kThreads / kWarp <= kWarp);
    const int other = thread.index() % kWarp;
    ExpSum all = other < kThreads / kWarp ? shared.warps[other] : ExpSum{-FLT_MAX, 0.0f};
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
      all = Add(all, {thread.ShuffleXor(all.most, mask), thread.ShuffleXor(all.sum, mask)});
    }
    return all;
  }
};

struct CountValid {
  static constexpr int kThreads = 1024;
  struct Shared {
    int64_t counts[kThreads / kWarp];
  };

  const int64_t* labels;
  int64_t count;
  int64_t ignored;
  int64_t* valid;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    int64_t mine = 0;
    for (int64_t i = thread.index(); i < count; i += kThreads) mine += labels[i] != ignored;
    const int64_t all = BlockSum<kThreads>(thread, mine, shared.counts);
    if (thread.index() == 0) *valid = all;
  }
};

}  // namespace

LaunchResult LaunchCrossEntropy(const CrossEntropy& chunk, Stream stream) {
  constexpr int64_t kLongRow = 32 << 10;  // bytes
  return WithElement(chunk.element, [&]<typename T>(T*) {
    return chunk.vocabulary * static_cast<int64_t>(sizeof(T)) < kLongRow
               ? Launch(Loss<T, 256>{chunk}, chunk.rows, stream)
               : Launch(Loss<T, 1024>{chunk}, chunk.rows, stream);
  });
}

LaunchResult LaunchCountValid(const int64_t* labels, int64_t count, int64_t ignored, int64_t* valid,
                              Stream stream) {
  return Launch(CountValid{labels, count, ignored, valid}, 1, stream);
}

}  // namespace muster::trainer::cuda
