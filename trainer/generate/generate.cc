#include "trainer/generate/generate.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/random/philox.h"

namespace muster::trainer {
namespace {

constexpr size_t kLongestCharacter = 4;  // bytes in UTF-8

double Uniform(uint64_t seed, uint64_t draw) {
  const auto words =
      Philox(MixKey(seed), {static_cast<uint32_t>(draw), static_cast<uint32_t>(draw >> 32), 0, 0});
  const uint64_t bits = (uint64_t{words[0]} << 32 | words[1]) >> 11;
  return static_cast<double>(bits) * 0x1.0p-53;
}

size_t LengthOf(unsigned char lead) {
  if (lead >= 0xF0) return 4;
  if (lead >= 0xE0) return 3;
  return lead >= 0xC0 ? 2 : 1;
}

// Returns the number of bytes at the end of `text` that begin a character but do not complete it.
size_t UnfinishedBytes(std::string_view text) {
  for (size_t back = 1; back < kLongestCharacter && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;  // inside a character
    return LengthOf(byte) > back ? back : 0;
  }
  return 0;
}

// Takes the whole characters from the beginning of `pending`.
std::string TakeWhole(std::string& pending) {
  const size_t whole = pending.size() - UnfinishedBytes(pending);
  std::string text = pending.substr(0, whole);
  pending.erase(0, whole);
  return text;
}

absl::StatusOr<std::vector<uint32_t>> EncodePrompt(const Tokenizer& tokenizer,
                                                   std::string_view prompt) {
  std::vector<uint32_t> tokens;
  tokenizer.Encode(prompt, tokens);
  if (tokens.empty()) {
    if (!tokenizer.end_of_text()) {
      return absl::InvalidArgumentError(
          "the prompt is empty, and the tokenizer has no end-of-text token to begin with: "
          "give a prompt");
    }
    tokens.push_back(*tokenizer.end_of_text());
  }
  return tokens;
}

}  // namespace

absl::Status Generate(const NextToken& model, const Tokenizer& tokenizer, std::string_view prompt,
                      const GenerateOptions& options,
                      const std::function<void(const GeneratedToken&)>& show) {
  MUSTER_RETURN_IF_ERROR(CheckSampling(options.sampling));
  if (options.max_tokens < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max-tokens is ", options.max_tokens, ", want 0 or more"));
  }
  MUSTER_ASSIGN_OR_RETURN(std::vector<uint32_t> tokens, EncodePrompt(tokenizer, prompt));
  const std::optional<uint32_t> end = tokenizer.end_of_text();
  SamplingOptions sampling = options.sampling;
  sampling.vocabulary = tokenizer.vocabulary();  // the rest were never trained
  std::string pending;
  for (int64_t made = 0; made < options.max_tokens; ++made) {
    const size_t seen = std::min<size_t>(tokens.size(), static_cast<size_t>(model.positions));
    MUSTER_ASSIGN_OR_RETURN(const std::vector<float> logits,
                            model.logits(std::span(tokens).last(seen)));
    MUSTER_ASSIGN_OR_RETURN(
        const Choice choice,
        ChooseToken(logits, sampling, Uniform(options.seed, static_cast<uint64_t>(made))));
    if (choice.token == end) break;
    tokens.push_back(choice.token);
    pending += tokenizer.Decode({&choice.token, 1});
    show({choice.token, choice.log_probability, TakeWhole(pending)});
  }
  return absl::OkStatus();
}

}  // namespace muster::trainer
