#include "trainer/kernels/chunk_squares.h"

#include <cstddef>

namespace muster::trainer {
namespace {

constexpr size_t kLanes = 16;  // independent sums, so that the loop vectorises as written

template <typename T>
void ChunkSquaresImpl(std::span<const T> values, std::span<double> out) {
  const size_t elements = out.empty() ? 0 : values.size() / out.size();
  for (size_t c = 0; c < out.size(); ++c) {
    const T* chunk = values.data() + c * elements;
    double lanes[kLanes] = {};
    for (size_t i = 0; i < elements; i += kLanes) {
      for (size_t l = 0; l < kLanes; ++l) {
        const double x = static_cast<double>(chunk[i + l]);
        lanes[l] += x * x;
      }
    }
    for (size_t width = kLanes / 2; width > 0; width /= 2) {
      for (size_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
    }
    out[c] = lanes[0];
  }
}

}  // namespace

void ChunkSquares(std::span<const float> values, std::span<double> out) {
  ChunkSquaresImpl(values, out);
}
void ChunkSquares(std::span<const double> values, std::span<double> out) {
  ChunkSquaresImpl(values, out);
}

}  // namespace muster::trainer
