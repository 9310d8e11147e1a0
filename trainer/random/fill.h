#ifndef MUSTER_TRAINER_RANDOM_FILL_H_
#define MUSTER_TRAINER_RANDOM_FILL_H_

#include <cstdint>
#include <span>
#include <string>

#include "trainer/random/element_run.h"

namespace muster::trainer {

// Plain loops over memory that draw from Philox; no tensors, so they compile in a second and
// vectorise. They number elements as the whole tensor has them: a rank that holds some runs of its
// elements draws the bits that the whole has there. `out` has the elements of `runs`, one run after
// the other.

// Names the initial values of a tensor.
struct NormalKey {
  uint64_t seed = 0;
  std::string name;  // the tensor's
  double deviation = 0.0;
};

// Draws normal numbers of mean 0 (Box and Muller, 1958). Element i is a function of (key, i) only,
// so that a tensor starts equal on every rank and in every layout. Drawn in double and rounded
// once.
void FillNormal(const NormalKey& key, std::span<const ElementRun> runs, std::span<float> out);
void FillNormal(const NormalKey& key, std::span<const ElementRun> runs, std::span<double> out);

// Names one dropout of one step; layer and site distinguish the places in the model.
struct DropoutKey {
  uint64_t seed = 0;
  int64_t step = 0;
  int32_t layer = 0;
  int32_t site = 0;
};

// Fills a dropout mask, ready to multiply with: 0 with probability p (to the nearest 1/65536), else
// the factor that keeps the expectation. Row r belongs to the sample with global index samples[r],
// and has the elements of `runs`; element i is a function of (key, samples[r], i).
void FillDropout(const DropoutKey& key, double p, std::span<const int64_t> samples,
                 std::span<const ElementRun> runs, std::span<float> out);
void FillDropout(const DropoutKey& key, double p, std::span<const int64_t> samples,
                 std::span<const ElementRun> runs, std::span<double> out);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_RANDOM_FILL_H_
