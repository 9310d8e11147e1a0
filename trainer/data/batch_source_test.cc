#include "trainer/data/batch_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "trainer/data/sample_order.h"
#include "trainer/data/token_cache.h"
#include "trainer/data/tokens.h"

namespace muster::trainer {
namespace {

TEST(PermutationTest, IsABijectionOfEverySize) {
  for (const uint64_t size : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 63u, 1000u, 4097u}) {
    for (uint64_t key = 0; key < 3; ++key) {
      const Permutation permutation(size, key);
      std::set<uint64_t> seen;
      for (uint64_t i = 0; i < size; ++i) seen.insert(permutation(i));
      EXPECT_EQ(seen.size(), size);
      EXPECT_EQ(*seen.rbegin(), size - 1);
    }
  }
}

TEST(SampleOrderTest, EveryEpochIsItsOwnPass) {
  const SampleOrder order(100, 42);
  std::vector<uint64_t> epochs[3];
  for (uint64_t p = 0; p < 300; ++p) epochs[p / 100].push_back(order.SequenceAt(p));
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
  for (auto& epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(epoch[i], i);
  }
}

// Checkpoints rely on this order: a change here breaks resumed runs.
TEST(SampleOrderTest, IsFixedForEver) {
  const SampleOrder order(1000, 1234);
  std::vector<uint64_t> first;
  for (uint64_t p = 0; p < 4; ++p) first.push_back(order.SequenceAt(p));
  EXPECT_EQ(first, (std::vector<uint64_t>{365, 745, 641, 591}));
}

Tokens Counting(uint32_t n) {
  std::vector<uint32_t> ids(n);
  std::iota(ids.begin(), ids.end(), 0u);
  return TokensInMemory(ids, TokenType::kU32);
}

BatchOptions Options(int prefetch = 0) {
  return {.sequence = 4, .micro_batch = 2, .seed = 5, .vocabulary = 5000, .prefetch = prefetch};
}

// Returns a place in a run whose steps have always had three micro-batches of two samples.
MicroBatchPosition At(int64_t step, int64_t micro_batch) {
  return {.consumed = (step - 1) * 6, .micro_batch = micro_batch, .micro_batches = 3};
}

TEST(BatchSourceTest, LabelsAreTheNextTokens) {
  auto source = BatchSource::Create(Counting(101), {}, Options()).value();
  EXPECT_EQ(source->training_sequences(), 25u);
  const TokenBatch batch = source->Training(At(2, 1)).value();
  ASSERT_EQ(batch.tokens.size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(batch.labels[i], batch.tokens[i] + 1);
  EXPECT_EQ(batch.tokens[0] % 4, 0);
  // Step 2 starts at position 6, its second micro-batch at 8.
  EXPECT_EQ(batch.samples, (std::vector<int64_t>{8, 9}));
}

TEST(BatchSourceTest, AnEpochVisitsEveryWindowOnce) {
  auto source = BatchSource::Create(Counting(25), {}, Options()).value();
  ASSERT_EQ(source->training_sequences(), 6u);
  std::set<int64_t> starts;
  for (int64_t m = 0; m < 3; ++m) {
    const TokenBatch batch = source->Training(At(1, m)).value();
    starts.insert(batch.tokens[0]);
    starts.insert(batch.tokens[4]);
  }
  EXPECT_EQ(starts, (std::set<int64_t>{0, 4, 8, 12, 16, 20}));
}

TEST(BatchSourceTest, ValidationPadsItsEndWithIgnoredLabels) {
  auto source = BatchSource::Create(Counting(50), Counting(11), Options()).value();
  ASSERT_EQ(source->validation_batches(), 2);
  const TokenBatch last = source->Validation(1).value();
  EXPECT_EQ(last.labels, (std::vector<int64_t>{9, 10, -100, -100, -100, -100, -100, -100}));
  EXPECT_EQ(last.tokens, (std::vector<int64_t>{8, 9, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(source->Validation(3)->labels, last.labels) << "wraps";
  auto none = BatchSource::Create(Counting(50), {}, Options()).value();
  EXPECT_EQ(none->validation_batches(), 0);
  EXPECT_EQ(none->Validation(0)->sequences, 0);
}

TEST(BatchSourceTest, ValidationOfWholeWindowsHasNoEmptyBatch) {
  auto source = BatchSource::Create(Counting(50), Counting(9), Options()).value();
  EXPECT_EQ(source->validation_batches(), 1);
  const TokenBatch batch = source->Validation(0).value();
  for (const int64_t label : batch.labels) EXPECT_NE(label, TokenBatch::kIgnored);
}

TEST(BatchSourceTest, TooFewTokensAreRefusedWithTheNumbers) {
  EXPECT_EQ(BatchSource::Create(Counting(4), {}, Options()).status().message(),
            "the training data has 4 tokens; one sequence of 4 needs 5");
}

TEST(BatchSourceTest, PrefetchFollowsTheCallersRange) {
  BatchOptions options = Options(2);
  options.start_thread = false;
  auto source = BatchSource::Create(Counting(1001), {}, options).value();
  EXPECT_FALSE(source->RunOnce()) << "nobody asked yet";
  for (int64_t step = 1; step <= 4; ++step) {
    for (int64_t m = 1; m < 3; ++m) {
      ASSERT_TRUE(source->Training(At(step, m)).ok());
      while (source->RunOnce()) {
      }
    }
  }
  EXPECT_EQ(source->hits(), 7) << "all but the very first";
}

TEST(BatchSourceTest, PrefetchedBatchesAreTheSame) {
  auto plain = BatchSource::Create(Counting(1001), {}, Options()).value();
  auto ahead = BatchSource::Create(Counting(1001), {}, Options(4)).value();
  // The calls of a rank of a changing world: ranges [1,3), then [0,2), then a step redone, then a
  // jump.
  const std::vector<std::pair<int64_t, int64_t>> calls = {
      {1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 0},  {3, 1},  {4, 0}, {4, 1},
      {4, 0}, {4, 1}, {4, 2}, {9, 2}, {10, 2}, {11, 2}, {2, 0}, {2, 1}};
  for (int round = 0; round < 50; ++round) {
    for (const auto& [step, m] : calls) {
      const TokenBatch expected = plain->Training(At(step, m)).value();
      const TokenBatch got = ahead->Training(At(step, m)).value();
      EXPECT_EQ(got.tokens, expected.tokens);
      EXPECT_EQ(got.labels, expected.labels);
      EXPECT_EQ(got.samples, expected.samples);
    }
  }
}

// There are 16 windows of 4 tokens. The batch and the ranks change step by step, also in the middle
// of epochs.
TEST(BatchSourceTest, BatchAndRanksChangeTogetherAndEveryEpochStillVisitsEveryWindowOnce) {
  constexpr int64_t kWindows = 16;
  struct Step {
    int64_t micro_batches;
    int64_t ranks;
  };
  const std::vector<Step> steps = {{2, 1}, {2, 2}, {5, 2}, {5, 3}, {1, 1}, {7, 4}, {3, 3}, {7, 1}};
  for (const int prefetch : {0, 4}) {
    auto source = BatchSource::Create(Counting(4 * kWindows + 1), {}, Options(prefetch)).value();
    ASSERT_EQ(source->training_sequences(), static_cast<uint64_t>(kWindows));
    std::vector<int64_t> starts;
    int64_t consumed = 0;
    for (const Step& step : steps) {
      for (int64_t rank = 0; rank < step.ranks; ++rank) {
        const int64_t begin = step.micro_batches * rank / step.ranks;
        const int64_t end = step.micro_batches * (rank + 1) / step.ranks;
        for (int64_t m = begin; m < end; ++m) {
          const TokenBatch batch = source->Training({consumed, m, step.micro_batches}).value();
          for (int row = 0; row < 2; ++row) starts.push_back(batch.tokens[4 * row]);
        }
      }
      consumed += 2 * step.micro_batches;
    }
    ASSERT_EQ(starts.size(), 4 * kWindows) << "four epochs";
    for (int epoch = 0; epoch < 4; ++epoch) {
      const auto begin = starts.begin() + epoch * kWindows;
      EXPECT_EQ(std::set<int64_t>(begin, begin + kWindows).size(), 16u) << "epoch " << epoch;
    }
  }
}

TEST(BatchSourceTest, ATokenBeyondTheVocabularyIsRefusedWithItsPositionWhenItIsRead) {
  BatchOptions options = Options();
  options.vocabulary = 60;
  auto source = BatchSource::Create(Counting(101), Counting(101), options).value();
  std::set<absl::StatusCode> codes;
  for (int64_t m = 0; m < 12; ++m) {
    const auto batch = source->Training({0, m, 12});
    codes.insert(batch.status().code());
    if (batch.ok()) continue;
    const std::string message(batch.status().message());
    const int64_t token = std::stoll(message.substr(std::string("the data hold token ").size()));
    EXPECT_EQ(message, absl::StrCat("the data hold token ", token, " at position ", token,
                                    ", but the vocabulary ends at 59"));
  }
  EXPECT_EQ(codes, (std::set{absl::StatusCode::kOk, absl::StatusCode::kInvalidArgument}));
  EXPECT_TRUE(source->Validation(0).ok());
  EXPECT_EQ(source->Validation(7).status().message(),
            "the data hold token 63 at position 164, but the vocabulary ends at 59");
}

}  // namespace
}  // namespace muster::trainer
