#ifndef MUSTER_TRAINER_RANDOM_FILL_H_
#define MUSTER_TRAINER_RANDOM_FILL_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace muster::trainer {

// Plain loops over memory that draw from Philox; no tensors, so they compile in a second and
// vectorise.

// Draws normal numbers of mean 0. Element i is a function of (seed, name, i) only, so that a tensor
// starts equal on every rank and in every layout. Drawn in double and rounded once.
void FillNormal(uint64_t seed, std::string_view name, double deviation, std::span<float> out);
void FillNormal(uint64_t seed, std::string_view name, double deviation, std::span<double> out);

// Names one dropout of one step; layer and site distinguish the places in the model.
struct DropoutKey {
  uint64_t seed = 0;
  int64_t step = 0;
  int32_t layer = 0;
  int32_t site = 0;
};

// Fills a dropout mask, ready to multiply with: 0 with probability p (to the nearest 1/65536), else
// the factor that keeps the expectation. Row r belongs to the sample with global index samples[r];
// its element i is a function of (key, samples[r], i). out holds samples.size() rows of equal
// length.
void FillDropout(const DropoutKey& key, double p, std::span<const int64_t> samples,
                 std::span<float> out);
void FillDropout(const DropoutKey& key, double p, std::span<const int64_t> samples,
                 std::span<double> out);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_RANDOM_FILL_H_
