#include "trainer/cuda/kernels/chunk_squares.h"

#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {
namespace {

constexpr int kLanes = 16;  // the independent sums of one chunk

template <typename T>
struct ChunkSquares {
  static constexpr int kThreads = 256;
  struct Shared {};

  const T* values;
  int64_t chunks;
  int64_t elements;  // of a chunk
  double* sums;

  // Sixteen neighbouring threads share a chunk, each with one of the CPU's sixteen lanes.
  MUSTER_DEVICE void operator()(const Thread& thread, Shared&) const {
    const int64_t chunk = thread.block() * (kThreads / kLanes) + thread.index() / kLanes;
    const int lane = thread.index() % kLanes;
    double sum = 0;
    if (chunk < chunks) {
      const T* mine = values + chunk * elements + lane;
#pragma unroll 8
      for (int64_t i = 0; i < elements; i += kLanes) {
        const double x = static_cast<double>(mine[i]);
        sum += x * x;
      }
    }
    for (int width = kLanes / 2; width > 0; width /= 2) sum += thread.ShuffleXor(sum, width);
    if (chunk < chunks && lane == 0) sums[chunk] = sum;
  }
};

template <typename T>
LaunchResult LaunchFor(const T* values, int64_t chunks, int64_t elements, double* sums,
                       Stream stream) {
  if (elements % kLanes != 0) return {cudaErrorInvalidValue};
  constexpr int64_t kPerBlock = ChunkSquares<T>::kThreads / kLanes;
  return Launch(ChunkSquares<T>{values, chunks, elements, sums},
                (chunks + kPerBlock - 1) / kPerBlock, stream);
}

}  // namespace

LaunchResult LaunchChunkSquares(const float* values, int64_t chunks, int64_t elements, double* sums,
                                Stream stream) {
  return LaunchFor(values, chunks, elements, sums, stream);
}
LaunchResult LaunchChunkSquares(const double* values, int64_t chunks, int64_t elements,
                                double* sums, Stream stream) {
  return LaunchFor(values, chunks, elements, sums, stream);
}

}  // namespace muster::trainer::cuda
