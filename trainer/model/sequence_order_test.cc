#include "trainer/model/sequence_order.h"

#include <cstdint>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/random/element_run.h"

namespace muster::trainer {
namespace {

using testing::ElementsAre;

constexpr ContextExchange kExchanges[] = {ContextExchange::kHeads, ContextExchange::kRing};

TEST(SequenceOrderTest, RunsOfAllRanksAreTheSequence) {
  for (const ContextExchange exchange : kExchanges) {
    for (const int ranks : {1, 2, 3, 5}) {
      const int64_t sequence = 3 * SequenceMultiple(exchange, ranks);
      std::set<int64_t> seen;
      for (int rank = 0; rank < ranks; ++rank) {
        int64_t own = 0, last = -1;
        for (const ElementRun& run : RunsOfSequence(exchange, rank, ranks, sequence)) {
          EXPECT_GT(run.begin, last);
          for (int64_t i = 0; i < run.count; ++i) seen.insert(last = run.begin + i);
          own += run.count;
        }
        EXPECT_EQ(own, sequence / ranks);
      }
      EXPECT_EQ(static_cast<int64_t>(seen.size()), sequence);
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(*seen.rbegin(), sequence - 1);
    }
  }
}

// Query i of a causal sequence attends to i + 1 keys.
TEST(SequenceOrderTest, RanksOfARingComputeAsMuchAttention) {
  constexpr int kRanks = 4;
  constexpr int64_t kSequence = 64;
  for (int rank = 0; rank < kRanks; ++rank) {
    int64_t scores = 0;
    for (const ElementRun& run : RunsOfSequence(ContextExchange::kRing, rank, kRanks, kSequence)) {
      for (int64_t i = 0; i < run.count; ++i) scores += run.begin + i + 1;
    }
    EXPECT_EQ(scores, kSequence * (kSequence + 1) / 2 / kRanks) << rank;
  }
}

TEST(SequenceOrderTest, SomeElementsLieInTheRunsThatHaveThem) {
  const std::vector<ElementRun> runs = {{10, 4}, {30, 2}, {50, 3}};
  EXPECT_THAT(SomeOf(runs, 0, 9), ElementsAre(runs[0], runs[1], runs[2]));
  EXPECT_THAT(SomeOf(runs, 2, 3), ElementsAre(ElementRun{12, 2}, ElementRun{30, 1}));
  EXPECT_THAT(SomeOf(runs, 4, 2), ElementsAre(ElementRun{30, 2}));
  EXPECT_THAT(SomeOf(runs, 9, 0), ElementsAre());
}

}  // namespace
}  // namespace muster::trainer
