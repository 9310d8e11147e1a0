#include "trainer/generate/sampler.h"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

// The logits of probabilities 1/2, 1/4, 1/8, 1/8 for tokens 2, 0, 1, 3.
const std::vector<float> kLogits = {std::log(0.25F), std::log(0.125F), std::log(0.5F),
                                    std::log(0.125F)};

// Returns the share of each token over an even grid of draws.
std::map<uint32_t, double> Shares(const SamplingOptions& options) {
  constexpr int kDraws = 4000;
  std::map<uint32_t, double> shares;
  for (int i = 0; i < kDraws; ++i) {
    const auto choice = ChooseToken(kLogits, options, (i + 0.5) / kDraws);
    EXPECT_TRUE(choice.ok()) << choice.status();
    if (choice.ok()) shares[choice->token] += 1.0 / kDraws;
  }
  return shares;
}

TEST(SamplerTest, GreedyTakesTheMostLikelyWhateverTheDraw) {
  for (const double uniform : {0.0, 0.5, 0.999}) {
    const auto choice = ChooseToken(kLogits, {}, uniform);
    ASSERT_TRUE(choice.ok());
    EXPECT_EQ(choice->token, 2U);
    EXPECT_NEAR(choice->log_probability, std::log(0.5), 1e-6);
  }
}

TEST(SamplerTest, AmongEqualLogitsTheLowerTokenComesFirst) {
  EXPECT_EQ(ChooseToken(std::vector<float>{1.0F, 3.0F, 3.0F}, {}, 0.9)->token, 1U);
}

TEST(SamplerTest, AtTemperatureOneTokensComeAsOftenAsTheModelSays) {
  const auto shares = Shares({.temperature = 1.0});
  EXPECT_NEAR(shares.at(2), 0.5, 0.001);
  EXPECT_NEAR(shares.at(0), 0.25, 0.001);
  EXPECT_NEAR(shares.at(1), 0.125, 0.001);
  EXPECT_NEAR(shares.at(3), 0.125, 0.001);
}

TEST(SamplerTest, ALowTemperatureSharpens) {
  // Weights are probabilities to the power of 1 / temperature: 1/4, 1/16, 1/64, 1/64 at one half.
  const double sum = 1.0 / 4 + 1.0 / 16 + 2.0 / 64;
  EXPECT_NEAR(Shares({.temperature = 0.5}).at(2), 0.25 / sum, 0.001);
}

TEST(SamplerTest, TopKKeepsTheMostLikely) {
  const auto shares = Shares({.temperature = 1.0, .top_k = 2});
  EXPECT_EQ(shares.size(), 2U);
  EXPECT_NEAR(shares.at(2), 2.0 / 3, 0.001);
  EXPECT_NEAR(shares.at(0), 1.0 / 3, 0.001);
}

TEST(SamplerTest, TopPKeepsTheFewestTokensThatReachIt) {
  EXPECT_EQ(Shares({.temperature = 1.0, .top_p = 0.5}).size(), 1U);
  EXPECT_EQ(Shares({.temperature = 1.0, .top_p = 0.51}).size(), 2U);
  EXPECT_EQ(Shares({.temperature = 1.0, .top_p = 0.01}).size(), 1U) << "one is always left";
}

TEST(SamplerTest, TheLogProbabilityIsTheModelsWhateverWasCut) {
  const auto choice = ChooseToken(kLogits, {.temperature = 0.1, .top_k = 1}, 0.0);
  ASSERT_TRUE(choice.ok());
  EXPECT_NEAR(choice->log_probability, std::log(0.5), 1e-6);
}

TEST(SamplerTest, TokensBeyondTheVocabularyCountAndAreNotChosen) {
  const auto choice = ChooseToken(kLogits, {.vocabulary = 2}, 0.0);
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->token, 0U);
  EXPECT_NEAR(choice->log_probability, std::log(0.25), 1e-6);
}

TEST(SamplerTest, LogitsOfADivergedRunAreRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto choice = ChooseToken(std::vector<float>{1.0F, nan}, {}, 0.0);
  EXPECT_EQ(choice.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(SamplerTest, OptionsOutOfRangeAreNamed) {
  EXPECT_TRUE(CheckSampling({}).ok());
  EXPECT_NE(CheckSampling({.temperature = -1}).message().find("temperature"), std::string::npos);
  EXPECT_NE(CheckSampling({.temperature = std::nan("")}).message().find("temperature"),
            std::string::npos);
  EXPECT_NE(CheckSampling({.top_k = -1}).message().find("top-k"), std::string::npos);
  EXPECT_NE(CheckSampling({.top_p = 0}).message().find("top-p"), std::string::npos);
}

}  // namespace
}  // namespace muster::trainer
