#ifndef MUSTER_TRAINER_GENERATE_SAMPLER_H_
#define MUSTER_TRAINER_GENERATE_SAMPLER_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::trainer {

struct SamplingOptions {
  double temperature = 0.0;  // 0 is greedy: always the most likely token
  // Chooses only tokens below this: a model may have more than its tokenizer. 0: all.
  int64_t vocabulary = 0;
  int64_t top_k = 0;   // only the k most likely tokens; 0: all
  double top_p = 1.0;  // only the most likely tokens that together have this probability
};

// Returns InvalidArgument that names the option out of range.
absl::Status CheckSampling(const SamplingOptions& options);

struct Choice {
  uint32_t token = 0;
  double log_probability = 0.0;  // natural; without temperature and cuts
};

// Chooses the next token. `logits` has one number per token; `uniform` in [0, 1) is the draw,
// unused when greedy. The cuts are made at `temperature`, top_k before top_p (Holtzman et al.,
// 2020, "The curious case of neural text degeneration"); among equal logits the lower token comes
// first. Pure. FailedPrecondition if a logit is not a number, as with weights of a diverged run.
absl::StatusOr<Choice> ChooseToken(std::span<const float> logits, const SamplingOptions& options,
                                   double uniform);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_GENERATE_SAMPLER_H_
