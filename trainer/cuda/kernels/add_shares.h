#ifndef MUSTER_TRAINER_CUDA_KERNELS_ADD_SHARES_H_
#define MUSTER_TRAINER_CUDA_KERNELS_ADD_SHARES_H_

// The second pass of a sum over the rows of a matrix: adds up the partial sums (shares) that the
// blocks of the first pass wrote.

#include <cstdint>

#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {

// Each block adds up 32 columns; each of its warps takes every 32nd share.
struct AddShares {
  static constexpr int kThreads = 1024;
  static constexpr int kWarps = kThreads / kWarp;
  struct Shared {
    float first[kWarps][kWarp];
    float second[kWarps][kWarp];
  };

  const float* shares = nullptr;  // [count, width], and for `second` as much again
  int64_t count = 0;
  int64_t width = 0;
  float* first = nullptr;   // [width]
  float* second = nullptr;  // null: there is no other sum

  MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const int lane = thread.index() % kWarp, warp = thread.index() / kWarp;
    const int64_t column = thread.block() * kWarp + lane;
    float a = 0, b = 0;
    for (int64_t share = warp; column < width && share < count; share += kWarps) {
      a += shares[share * width + column];
      if (second) b += shares[(count + share) * width + column];
    }
    shared.first[warp][lane] = a;
    shared.second[warp][lane] = b;
    thread.Sync();
    if (warp > 0 || column >= width) return;
    for (int other = 1; other < kWarps; ++other) {
      a += shared.first[other][lane];
      b += shared.second[other][lane];
    }
    first[column] = a;
    if (second) second[column] = b;
  }
};

inline LaunchResult LaunchAddShares(const AddShares& sums, Stream stream) {
  return Launch(sums, (sums.width + kWarp - 1) / kWarp, stream);
}

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_ADD_SHARES_H_
