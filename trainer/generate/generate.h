#ifndef MUSTER_TRAINER_GENERATE_GENERATE_H_
#define MUSTER_TRAINER_GENERATE_GENERATE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/data/tokenizer.h"
#include "trainer/generate/sampler.h"

namespace muster::trainer {

struct GenerateOptions {
  int64_t max_tokens = 100;
  SamplingOptions sampling;
  uint64_t seed = 0;  // equal seeds give equal text
};

struct GeneratedToken {
  uint32_t token = 0;
  double log_probability = 0.0;
  // The text that this token completes: whole characters only, so it may be empty while a character
  // lacks bytes.
  std::string text;
};

// The part of a model that Generate needs.
struct NextToken {
  int64_t positions = 0;  // the most tokens that `logits` takes
  std::function<absl::StatusOr<std::vector<float>>(std::span<const uint32_t>)> logits;
};

// Continues `prompt`, token by token, until there are max_tokens new ones, or until the tokenizer's
// end of text, which is not shown. An empty prompt begins a text; InvalidArgument if the tokenizer
// has no token for that. The model sees only the newest `positions` tokens, so a longer text goes
// on as if its beginning had never been.
absl::Status Generate(const NextToken& model, const Tokenizer& tokenizer, std::string_view prompt,
                      const GenerateOptions& options,
                      const std::function<void(const GeneratedToken&)>& show);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_GENERATE_GENERATE_H_
