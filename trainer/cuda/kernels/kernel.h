#ifndef MUSTER_TRAINER_CUDA_KERNELS_KERNEL_H_
#define MUSTER_TRAINER_CUDA_KERNELS_KERNEL_H_

// Kernels as .cu files write them. nvcc compiles them for a card; without nvcc the same text runs
// on the CPU (emulation.h). A kernel is a struct of arguments with
//
//   static constexpr int kThreads = 256;    // of a block, a multiple of 32
//   struct Shared { ... };                  // the block's shared memory, not initialized
//   MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const;
//
// and Launch() enqueues it. Threads of a block meet at Sync(), lanes of a warp in the shuffles; all
// of them must get there. A kernel uses no atomics: the order of its additions is fixed.

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>

#include "trainer/cuda/kernels/launch_result.h"
#if defined(__CUDACC__)
#define MUSTER_DEVICE __device__ __forceinline__
#else
#define MUSTER_DEVICE inline
#include "trainer/cuda/kernels/emulation.h"
#endif

namespace muster::trainer::cuda {

inline constexpr int kWarp = 32;

#if defined(__CUDACC__)

class Thread {
 public:
  __device__ int index() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ int64_t block() const { return static_cast<int64_t>(blockIdx.x); }
  __device__ int64_t blocks() const { return static_cast<int64_t>(gridDim.x); }
  __device__ void Sync() const { __syncthreads(); }
  // Returns the value that the lane with index ^ mask gave.
  template <typename T>
  __device__ T ShuffleXor(T value, int mask) const {
    return __shfl_xor_sync(0xffffffffu, value, mask);
  }
};

template <typename Kernel>
__global__ void __launch_bounds__(Kernel::kThreads) RunKernel(const Kernel kernel) {
  __shared__ typename Kernel::Shared shared;
  kernel(Thread(), shared);
}

template <typename Kernel>
LaunchResult Launch(const Kernel& kernel, int64_t blocks, Stream stream) {
  if (blocks == 0) return {};
  if (blocks > std::numeric_limits<int>::max()) return {cudaErrorInvalidConfiguration};
  RunKernel<Kernel><<<static_cast<unsigned>(blocks), Kernel::kThreads, 0, stream>>>(kernel);
  return {cudaGetLastError()};
}

#else

template <typename Kernel>
LaunchResult Launch(const Kernel& kernel, int64_t blocks, Stream) {
  if (blocks > std::numeric_limits<int>::max()) return {cudaErrorInvalidConfiguration};
  EmulateBlocks<typename Kernel::Shared>(
      blocks, Kernel::kThreads,
      [&](const Thread& thread, typename Kernel::Shared& shared) { kernel(thread, shared); });
  return {};
}

#endif

struct Plus {
  template <typename T>
  MUSTER_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

// Puts the values of a warp's threads together two by two; every thread gets the result.
template <typename T, typename Join>
MUSTER_DEVICE T WarpReduce(const Thread& thread, T value, const Join& join) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    value = join(value, thread.ShuffleXor(value, mask));
  }
  return value;
}

template <typename T>
MUSTER_DEVICE T WarpSum(const Thread& thread, T value) {
  return WarpReduce(thread, value, Plus());
}

// Puts the values of a block's threads together two by two, in an order that depends on kThreads
// alone; every thread gets the result. `scratch` may be used again after the next Sync().
template <int kThreads, typename T, typename Join>
MUSTER_DEVICE T BlockReduce(const Thread& thread, T value, T (&scratch)[kThreads / kWarp],
                            const Join& join) {
  value = WarpReduce(thread, value, join);
  if (thread.index() % kWarp == 0) scratch[thread.index() / kWarp] = value;
  thread.Sync();
  T all = scratch[0];
  for (int warp = 1; warp < kThreads / kWarp; ++warp) all = join(all, scratch[warp]);
  return all;
}

template <int kThreads, typename T>
MUSTER_DEVICE T BlockSum(const Thread& thread, T value, T (&scratch)[kThreads / kWarp]) {
  return BlockReduce<kThreads>(thread, value, scratch, Plus());
}

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_KERNEL_H_
