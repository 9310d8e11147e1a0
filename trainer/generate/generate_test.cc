#include "trainer/generate/generate.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint32_t kEnd = 256;

// Has a token for each byte, and one for the end of text.
class ByteTokenizer : public Tokenizer {
 public:
  explicit ByteTokenizer(bool has_end = true) : has_end_(has_end) {}
  uint32_t vocabulary() const override { return has_end_ ? 257 : 256; }
  std::optional<uint32_t> end_of_text() const override {
    return has_end_ ? std::optional<uint32_t>(kEnd) : std::nullopt;
  }
  void Encode(std::string_view text, std::vector<uint32_t>& out) const override {
    for (const char c : text) out.push_back(static_cast<unsigned char>(c));
  }
  std::string Decode(std::span<const uint32_t> ids) const override {
    std::string text;
    for (const uint32_t id : ids) text.push_back(static_cast<char>(id));
    return text;
  }
  const std::string& json() const override { return json_; }

 private:
  const bool has_end_;
  const std::string json_;
};

// A model that answers `script` and then the end of text, and records its inputs.
struct ScriptedModel {
  std::string script;
  std::vector<std::vector<uint32_t>> seen;

  NextToken Model(int64_t positions = 100) {
    return {positions, [this](std::span<const uint32_t> tokens) {
              std::vector<float> logits(300, 0.0F);
              const size_t at = seen.size();
              logits[at < script.size() ? static_cast<unsigned char>(script[at]) : kEnd] = 20.0F;
              seen.emplace_back(tokens.begin(), tokens.end());
              return logits;
            }};
  }
};

struct Told {
  absl::Status status;
  std::string text;
  std::vector<std::string> pieces;
};

Told Tell(const NextToken& model, const Tokenizer& tokenizer, std::string_view prompt,
          const GenerateOptions& options = {}) {
  Told told;
  told.status = Generate(model, tokenizer, prompt, options, [&told](const GeneratedToken& token) {
    told.text += token.text;
    told.pieces.push_back(token.text);
  });
  return told;
}

TEST(GenerateTest, GoesOnFromThePromptUntilTheEndOfText) {
  ScriptedModel model{"cd", {}};
  const Told told = Tell(model.Model(), ByteTokenizer(), "ab");
  EXPECT_TRUE(told.status.ok()) << told.status;
  EXPECT_EQ(told.text, "cd");
  EXPECT_THAT(model.seen, ElementsAre(ElementsAre('a', 'b'), ElementsAre('a', 'b', 'c'),
                                      ElementsAre('a', 'b', 'c', 'd')));
}

TEST(GenerateTest, EndsAfterMaxTokens) {
  ScriptedModel model{"cdef", {}};
  EXPECT_EQ(Tell(model.Model(), ByteTokenizer(), "ab", {.max_tokens = 3}).text, "cde");
}

TEST(GenerateTest, LooksAtTheNewestTokensThatTheModelCanTake) {
  ScriptedModel model{"cd", {}};
  EXPECT_TRUE(Tell(model.Model(/*positions=*/2), ByteTokenizer(), "xyab").status.ok());
  EXPECT_THAT(model.seen,
              ElementsAre(ElementsAre('a', 'b'), ElementsAre('b', 'c'), ElementsAre('c', 'd')));
}

TEST(GenerateTest, ACharacterIsShownWhenItIsWhole) {
  ScriptedModel model{"x\xE2\x82\xACy", {}};  // the euro sign is three tokens here
  EXPECT_THAT(Tell(model.Model(), ByteTokenizer(), "a").pieces,
              ElementsAre("x", "", "", "\xE2\x82\xAC", "y"));
}

TEST(GenerateTest, AnEmptyPromptBeginsAText) {
  ScriptedModel model{"a", {}};
  EXPECT_TRUE(Tell(model.Model(), ByteTokenizer(), "").status.ok());
  EXPECT_THAT(model.seen[0], ElementsAre(kEnd));
  const Told told = Tell(model.Model(), ByteTokenizer(/*has_end=*/false), "");
  EXPECT_THAT(std::string(told.status.message()), HasSubstr("give a prompt"));
}

TEST(GenerateTest, TokensUnknownToTheTokenizerAreNeverChosen) {
  const NextToken model = {100, [](std::span<const uint32_t>) {
                             std::vector<float> logits(300, 0.0F);
                             logits[280] = 20.0F;
                             logits['b'] = 10.0F;
                             return logits;
                           }};
  EXPECT_EQ(Tell(model, ByteTokenizer(), "a", {.max_tokens = 2}).text, "bb");
}

TEST(GenerateTest, EqualSeedsGiveEqualText) {
  const NextToken flat = {100,
                          [](std::span<const uint32_t>) { return std::vector<float>(256, 0.0F); }};
  const ByteTokenizer tokenizer(/*has_end=*/false);
  const GenerateOptions one = {.max_tokens = 50, .sampling = {.temperature = 1.0}, .seed = 1};
  const GenerateOptions two = {.max_tokens = 50, .sampling = {.temperature = 1.0}, .seed = 2};
  EXPECT_EQ(Tell(flat, tokenizer, "a", one).text, Tell(flat, tokenizer, "a", one).text);
  EXPECT_NE(Tell(flat, tokenizer, "a", one).text, Tell(flat, tokenizer, "a", two).text);
}

TEST(GenerateTest, AnErrorOfTheModelIsPassedOn) {
  const NextToken broken = {100,
                            [](std::span<const uint32_t>) -> absl::StatusOr<std::vector<float>> {
                              return absl::DataLossError("the weights are damaged");
                            }};
  EXPECT_EQ(Tell(broken, ByteTokenizer(), "a").status.code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace muster::trainer
