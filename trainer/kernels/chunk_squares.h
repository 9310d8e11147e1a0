#ifndef MUSTER_TRAINER_KERNELS_CHUNK_SQUARES_H_
#define MUSTER_TRAINER_KERNELS_CHUNK_SQUARES_H_

#include <span>

namespace muster::trainer {

// Computes the sum of squares of each chunk of `values`, in double; out has one element per chunk.
// Chunks are equal, and a multiple of 16 elements. The order of additions within a chunk is fixed.
// A chunk with an infinity or NaN gives one.
void ChunkSquares(std::span<const float> values, std::span<double> out);
void ChunkSquares(std::span<const double> values, std::span<double> out);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_KERNELS_CHUNK_SQUARES_H_
