#ifndef MUSTER_TRAINER_CUDA_KERNELS_FILL_H_
#define MUSTER_TRAINER_CUDA_KERNELS_FILL_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "trainer/cuda/kernels/launch_result.h"
#include "trainer/random/element_run.h"

namespace muster::trainer::cuda {

// The fills of trainer/random/fill.h on a card, from the same Philox counters.

// They number elements as the whole tensor has them; `out` has those of `runs`, one run after the
// other, so that a rank draws what the whole has there.
// Element i is a normal number of mean 0 that depends on (key, i) only, computed in double and
// rounded once; `key` is FillKey() of a seed and a name. The draws are those of the CPU; a card's
// log, cos and sin may differ in the last bit of a double, which a float shows once in some 10^8
// elements.
uint64_t FillKey(uint64_t seed, std::string_view name);
LaunchResult LaunchFillNormal(uint64_t key, double deviation, std::span<const ElementRun> runs,
                              float* out, Stream stream);
LaunchResult LaunchFillNormal(uint64_t key, double deviation, std::span<const ElementRun> runs,
                              double* out, Stream stream);

// A mask that multiplies activations, with the CPU's bits: see FillDropout(). Its rows belong to
// the samples, and each has the elements of the runs.
struct DropoutMask {
  uint64_t seed = 0;
  int64_t step = 0;
  int32_t layer = 0;
  int32_t site = 0;
  double probability = 0;  // of an element to be dropped
  std::span<const int64_t> samples;
  std::span<const ElementRun> runs;
};
LaunchResult LaunchFillDropout(const DropoutMask& mask, float* out, Stream stream);
LaunchResult LaunchFillDropout(const DropoutMask& mask, double* out, Stream stream);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_FILL_H_
