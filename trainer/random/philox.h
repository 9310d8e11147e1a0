#ifndef MUSTER_TRAINER_RANDOM_PHILOX_H_
#define MUSTER_TRAINER_RANDOM_PHILOX_H_

#include <array>
#include <cstdint>

// nvcc compiles these functions for the card as well.
#if defined(__CUDACC__)
#define MUSTER_HOST_AND_DEVICE __host__ __device__
#else
#define MUSTER_HOST_AND_DEVICE
#endif

namespace muster::trainer {

// Counter-based random numbers: Philox4x32-10 (Salmon et al., 2011). The four words depend only on
// a 64-bit key and a 128-bit counter, so computing an element anywhere, however often, gives the
// same bits. Pure; the same function serves CPU and CUDA.
MUSTER_HOST_AND_DEVICE inline std::array<uint32_t, 4> Philox(uint64_t key,
                                                             std::array<uint32_t, 4> counter) {
  auto k0 = static_cast<uint32_t>(key);
  auto k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

// splitmix64's finaliser: spreads a seed over all bits of a key.
MUSTER_HOST_AND_DEVICE inline uint64_t MixKey(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_RANDOM_PHILOX_H_
