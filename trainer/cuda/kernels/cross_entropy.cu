#include "trainer/cuda/kernels/cross_entropy.h"

#include <cfloat>
#include <cmath>

#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {
namespace {

// The sum of exp(x) over some values is sum * exp(most): it overflows for none (Milakov and
// Gimelshein, 2018). `most` begins at a number, because infinity minus infinity is none.
struct ExpSum {
  float most;
  float sum;
};

MUSTER_DEVICE ExpSum Add(const ExpSum& a, const ExpSum& b) {
  const float most = a.most > b.most ? a.most : b.most;
  return {most, a.sum * expf(a.most - most) + b.sum * expf(b.most - most)};
}

// One block per row; a row is read from memory twice and written once.
template <typename T>
struct Loss {
  static constexpr int kThreads = 512;
  struct Shared {
    ExpSum warps[kThreads / kWarp];
  };

  CrossEntropy chunk;
  bool packed;

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
    const float scale = valid ? chunk.gradient_scale : 0.0f;
    ForEach(thread.index(), kThreads, chunk.vocabulary, packed, [&](auto n, int64_t i) {
      float v[n];
      Load(logits + i, v);
      for (int k = 0; k < n; ++k) {
        const float share = expf(v[k] - all.most) / all.sum - (i + k == label ? 1.0f : 0.0f);
        v[k] = valid ? share * scale : 0.0f;
      }
      Store(v, logits + i);
    });
  }

  MUSTER_DEVICE ExpSum SumOfRow(const Thread& thread, const T* logits, Shared& shared) const {
    ExpSum mine{-FLT_MAX, 0.0f};
    ForEach(thread.index(), kThreads, chunk.vocabulary, packed, [&](auto n, int64_t i) {
      float v[n];
      Load(logits + i, v);
      float most = mine.most;
      for (int k = 0; k < n; ++k) most = v[k] > most ? v[k] : most;
      mine.sum *= expf(mine.most - most);
      mine.most = most;
      for (int k = 0; k < n; ++k) mine.sum += expf(v[k] - most);
    });
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
      mine = Add(mine, {thread.ShuffleXor(mine.most, mask), thread.ShuffleXor(mine.sum, mask)});
    }
    if (thread.index() % kWarp == 0) shared.warps[thread.index() / kWarp] = mine;
    thread.Sync();
    ExpSum all = shared.warps[0];
    for (int warp = 1; warp < kThreads / kWarp; ++warp) all = Add(all, shared.warps[warp]);
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
  return WithElement(chunk.element, [&]<typename T>(T*) {
    const bool packed = chunk.vocabulary % kPack == 0 && ArePacked<T>({chunk.logits});
    return Launch(Loss<T>{chunk, packed}, chunk.rows, stream);
  });
}

LaunchResult LaunchCountValid(const int64_t* labels, int64_t count, int64_t ignored, int64_t* valid,
                              Stream stream) {
  return Launch(CountValid{labels, count, ignored, valid}, 1, stream);
}

}  // namespace muster::trainer::cuda
