#include "trainer/cuda/kernels/fp8.h"

#include <cuda_fp8.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {
namespace {

constexpr int kBlock = 256;  // threads
constexpr int kTile = 64;    // rows, and columns, that a block converts
constexpr int kLanes = kTile / static_cast<int>(kFp8Run);

// Magnitudes are compared by their bits: these have the order of the magnitudes, and infinity and
// NaN are above all others, so that a matrix with one of them has it for its largest.
MUSTER_DEVICE uint32_t MagnitudeBits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits & 0x7fffffffu;
}

struct Larger {
  MUSTER_DEVICE uint32_t operator()(uint32_t a, uint32_t b) const { return a > b ? a : b; }
};

// Each block leaves the largest magnitude of its part of the matrix.
template <typename T>
struct FindLargest {
  static constexpr int kThreads = kBlock;
  struct Shared {
    uint32_t scratch[kThreads / kWarp];
  };

  const T* values;
  int64_t count;
  uint32_t* parts;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    uint32_t largest = 0;
    const int64_t stride = thread.blocks() * kThreads * kFp8Run;
#pragma unroll 4
    for (int64_t i = (thread.block() * kThreads + thread.index()) * kFp8Run; i < count;
         i += stride) {
      float v[kFp8Run];
      Load(values + i, v);
      for (int k = 0; k < kFp8Run; ++k) largest = Larger()(largest, MagnitudeBits(v[k]));
    }
    largest = BlockReduce<kThreads>(thread, largest, shared.scratch, Larger());
    if (thread.index() == 0) parts[thread.block()] = largest;
  }
};

// A block converts a tile, and writes its columns by way of shared memory.
template <typename T>
struct ConvertTile {
  static constexpr int kThreads = kBlock;
  struct Shared {
    uint32_t scratch[kThreads / kWarp];
    uint8_t tile[kTile][kTile + 4];  // padded, so that a column lies in several banks
  };

  Fp8Conversion conversion;
  int64_t parts;  // of the workspace
  int64_t tiles;  // from left to right

  MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const float scale = ScaleOf(thread, shared);
    const int64_t row = thread.block() / tiles * kTile, column = thread.block() % tiles * kTile;
    const int lane = thread.index() % kLanes, line = thread.index() / kLanes;
    for (int r = line; r < kTile && row + r < conversion.rows; r += kThreads / kLanes) {
      const int64_t at = column + lane * kFp8Run;
      if (at < conversion.width) ConvertRun(shared, row, r, column, lane, scale);
    }
    if (conversion.by_column == nullptr) return;
    thread.Sync();
    for (int c = line; c < kTile && column + c < conversion.width; c += kThreads / kLanes) {
      const int64_t at = row + lane * kFp8Run;
      if (at >= conversion.rows) continue;
      Pack<kFp8Run, uint8_t> run;
      for (int k = 0; k < kFp8Run; ++k) run.values[k] = shared.tile[lane * kFp8Run + k][c];
      *reinterpret_cast<Pack<kFp8Run, uint8_t>*>(conversion.by_column +
                                                 (column + c) * conversion.rows + at) = run;
    }
  }

  MUSTER_DEVICE float ScaleOf(const Thread& thread, Shared& shared) const {
    uint32_t bits = 0;
    for (int64_t i = thread.index(); i < parts; i += kThreads) {
      bits = Larger()(bits, conversion.workspace[i]);
    }
    bits = BlockReduce<kThreads>(thread, bits, shared.scratch, Larger());
    float magnitude;
    memcpy(&magnitude, &bits, sizeof(magnitude));
    if (magnitude < conversion.least_magnitude) magnitude = conversion.least_magnitude;
    const float scale = conversion.largest_number / magnitude;
    if (thread.block() == 0 && thread.index() == 0) *conversion.unscale = 1.0f / scale;
    return scale;
  }

  // Converts a run of row `r` of the tile.
  MUSTER_DEVICE void ConvertRun(Shared& shared, int64_t row, int r, int64_t column, int lane,
                                float scale) const {
    const int64_t at = (row + r) * conversion.width + column + lane * kFp8Run;
    float v[kFp8Run];
    Load(static_cast<const T*>(conversion.matrix) + at, v);
    Pack<kFp8Run, uint8_t> run;
    for (int k = 0; k < kFp8Run; ++k) run.values[k] = Convert(v[k] * scale);
    *reinterpret_cast<Pack<kFp8Run, uint8_t>*>(conversion.by_row + at) = run;
    for (int k = 0; k < kFp8Run; ++k) shared.tile[r][lane * kFp8Run + k] = run.values[k];
  }

  MUSTER_DEVICE uint8_t Convert(float value) const {
    return __nv_cvt_float_to_fp8(value, __NV_SATFINITE,
                                 conversion.type == Fp8Type::kE4m3 ? __NV_E4M3 : __NV_E5M2);
  }
};

}  // namespace

LaunchResult LaunchFp8Conversion(const Fp8Conversion& conversion, Stream stream) {
  const int64_t count = conversion.rows * conversion.width;
  const int64_t parts = std::min(BlocksFor(count / kFp8Run, kBlock), kFp8Workspace);
  const int64_t across = (conversion.width + kTile - 1) / kTile;
  const int64_t down = (conversion.rows + kTile - 1) / kTile;
  return WithElement(conversion.element, [&]<typename T>(T*) {
    const FindLargest<T> find{static_cast<const T*>(conversion.matrix), count,
                              conversion.workspace};
    if (const LaunchResult found = Launch(find, parts, stream); !found.ok()) return found;
    return Launch(ConvertTile<T>{conversion, parts, across}, across * down, stream);
  });
}

}  // namespace muster::trainer::cuda
