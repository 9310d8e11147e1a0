#include "trainer/cuda/kernels/column_sums.h"

#include <algorithm>
#include <cstdint>

#include "trainer/cuda/kernels/add_shares.h"
#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {
namespace {

constexpr int kWarps = 8;   // of a block
constexpr int kTile = 256;  // columns that a block adds at least

// So many blocks go through the rows of a tile that all together keep a large card busy.
int64_t SharesOf(int64_t rows, int64_t width) {
  constexpr int64_t kBlocks = 1056;
  const int64_t tiles = (width + kTile - 1) / kTile;
  return std::clamp<int64_t>((rows + kWarps - 1) / kWarps, 1,
                             std::max<int64_t>(kBlocks / tiles, 1));
}

// A block adds the columns of a tile over every shares'th group of kWarps rows, a warp each of
// them; lanes hold kPerLane neighbouring columns.
template <typename T, int kPerLane>
struct AddColumns {
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr int kColumns = kPerLane * kWarp;
  struct Shared {
    float sums[kWarps][kColumns];
  };

  ColumnSums columns;
  int64_t tiles;
  int64_t shares;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const int lane = thread.index() % kWarp, warp = thread.index() / kWarp;
    const int64_t begin = thread.block() % tiles * kColumns, share = thread.block() / tiles;
    const int64_t column = begin + lane * kPerLane;
    float sums[kPerLane] = {};
    if (column < columns.width) {
#pragma unroll 8
      for (int64_t row = share * kWarps + warp; row < columns.rows; row += shares * kWarps) {
        float v[kPerLane];
        Load(static_cast<const T*>(columns.matrix) + row * columns.width + column, v);
        for (int k = 0; k < kPerLane; ++k) sums[k] += v[k];
      }
    }
    for (int k = 0; k < kPerLane; ++k) shared.sums[warp][lane * kPerLane + k] = sums[k];
    thread.Sync();
    for (int i = thread.index(); i < kColumns && begin + i < columns.width; i += kThreads) {
      float sum = shared.sums[0][i];
      for (int other = 1; other < kWarps; ++other) sum += shared.sums[other][i];
      columns.workspace[share * columns.width + begin + i] = sum;
    }
  }
};

template <typename T, int kPerLane>
LaunchResult LaunchAdd(const ColumnSums& columns, int64_t shares, Stream stream) {
  using Kernel = AddColumns<T, kPerLane>;
  const int64_t tiles = (columns.width + Kernel::kColumns - 1) / Kernel::kColumns;
  return Launch(Kernel{columns, tiles, shares}, tiles * shares, stream);
}

}  // namespace

int64_t ColumnSumsWorkspace(int64_t rows, int64_t width) { return SharesOf(rows, width) * width; }

LaunchResult LaunchColumnSums(const ColumnSums& columns, Stream stream) {
  const int64_t shares = SharesOf(columns.rows, columns.width);
  const LaunchResult result = WithElement(columns.element, [&]<typename T>(T*) {
    const bool packed =
        columns.width % kWidePack<T> == 0 && ArePacked<T, kWidePack<T>>({columns.matrix});
    return packed ? LaunchAdd<T, kWidePack<T>>(columns, shares, stream)
                  : LaunchAdd<T, 1>(columns, shares, stream);
  });
  if (!result.ok()) return result;
  return LaunchAddShares(
      {.shares = columns.workspace, .count = shares, .width = columns.width, .first = columns.sums},
      stream);
}

}  // namespace muster::trainer::cuda
