#ifndef MUSTER_TRAINER_CUDA_KERNELS_DIGEST_H_
#define MUSTER_TRAINER_CUDA_KERNELS_DIGEST_H_

#include <cstdint>

#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// Returns how many sums LaunchDigest() writes for so many words.
int64_t DigestSums(int64_t words);

// Hashes `count` words of 32 bits. Two words are a pair, the last one alone is a pair with 0; the
// hash is the sum, modulo 2^64, of a hash of each pair and its index. Each of the `sums` is the
// part of one block of threads: their sum depends on the words alone, on every device.
LaunchResult LaunchDigest(const uint32_t* words, int64_t count, int64_t* sums, Stream stream);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_DIGEST_H_
