#include "trainer/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

double LogSumExp(std::span<const float> logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  return most + std::log(sum);
}

// Returns the tokens from the most likely on, the first `top_k` of them (0: all).
std::vector<uint32_t> MostLikely(std::span<const float> logits, int64_t top_k) {
  std::vector<uint32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0U);
  const auto before = [&logits](uint32_t a, uint32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  const size_t kept =
      top_k > 0 ? std::min<size_t>(static_cast<size_t>(top_k), tokens.size()) : tokens.size();
  std::partial_sort(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(kept), tokens.end(),
                    before);
  tokens.resize(kept);
  return tokens;
}

// Draws by weight: returns the first token whose running sum of weights passes the draw.
uint32_t Draw(const std::vector<uint32_t>& tokens, const std::vector<double>& weights, double top_p,
              double uniform) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  size_t kept = 0;
  double mass = 0.0;
  while (kept < tokens.size() && (kept == 0 || mass < top_p * all)) mass += weights[kept++];
  double left = uniform * mass;
  for (size_t i = 0; i < kept; ++i) {
    left -= weights[i];
    if (left < 0.0) return tokens[i];
  }
  return tokens[kept - 1];  // rounding
}

}  // namespace

absl::Status CheckSampling(const SamplingOptions& options) {
  if (!(options.temperature >= 0.0 && options.temperature <= 100.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("temperature is ", options.temperature, ", want 0 (greedy) to 100"));
  }
  if (options.top_k < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("top-k is ", options.top_k, ", want 0 (all tokens) or more"));
  }
  if (!(options.top_p > 0.0 && options.top_p <= 1.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("top-p is ", options.top_p, ", want 0 < top-p <= 1"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Choice> ChooseToken(std::span<const float> logits, const SamplingOptions& options,
                                   double uniform) {
  if (logits.empty()) return absl::InvalidArgumentError("there are no tokens to choose from");
  for (size_t token = 0; token < logits.size(); ++token) {
    if (!std::isfinite(logits[token])) {
      return absl::FailedPreconditionError(
          absl::StrCat("the logit of token ", token,
                       " is not a finite number: the run that saved these weights had diverged"));
    }
  }
  const auto choices =
      options.vocabulary > 0
          ? std::min<size_t>(static_cast<size_t>(options.vocabulary), logits.size())
          : logits.size();
  const std::vector<uint32_t> tokens =
      MostLikely(logits.first(choices), options.temperature == 0.0 ? 1 : options.top_k);
  const float most = logits[tokens.front()];
  uint32_t token = tokens.front();
  if (options.temperature > 0.0) {
    std::vector<double> weights;
    weights.reserve(tokens.size());
    for (const uint32_t one : tokens) {
      weights.push_back(std::exp((static_cast<double>(logits[one]) - most) / options.temperature));
    }
    token = Draw(tokens, weights, options.top_p, uniform);
  }
  return Choice{token, logits[token] - LogSumExp(logits)};
}

}  // namespace muster::trainer
