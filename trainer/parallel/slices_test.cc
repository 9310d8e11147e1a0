#include "trainer/parallel/slices.h"

#include <algorithm>
#include <set>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

using Held = std::vector<std::optional<Shard>>;
using Wanted = std::vector<std::optional<Shard>>;

TEST(SlicesTest, SlicesTileAUnitAndDifferByOneChunk) {
  for (int64_t chunks = 0; chunks <= 13; ++chunks) {
    for (int count = 1; count <= 6; ++count) {
      int64_t at = 0;
      for (int index = 0; index < count; ++index) {
        const TreeNode slice = SliceOf(chunks, {index, count});
        EXPECT_EQ(slice.begin, at);
        EXPECT_LE(slice.leaves(), chunks / count + 1);
        EXPECT_GE(slice.leaves(), chunks / count);
        at = slice.end;
      }
      EXPECT_EQ(at, chunks);
    }
  }
}

TEST(SlicesTest, ASliceIsMadeOfTheSlicesOfTwiceAsManyRanks) {
  for (int64_t chunks = 0; chunks <= 13; ++chunks) {
    for (int count = 1; count <= 5; ++count) {
      for (int index = 0; index < count; ++index) {
        const TreeNode slice = SliceOf(chunks, {index, count});
        EXPECT_EQ(slice.begin, SliceOf(chunks, {2 * index, 2 * count}).begin);
        EXPECT_EQ(slice.end, SliceOf(chunks, {2 * index + 1, 2 * count}).end);
      }
    }
  }
}

TEST(SlicesTest, NobodySendsWhatEveryRankHolds) {
  std::vector<int64_t> sent(2);
  EXPECT_TRUE(PlanMoves(7, Held{Shard{0, 2}, Shard{1, 2}}, Wanted{Shard{0, 2}, Shard{1, 2}}, sent)
                  ->empty());
  EXPECT_TRUE(
      PlanMoves(7, Held{Shard{}, Shard{}}, Wanted{Shard{0, 2}, Shard{1, 2}}, sent)->empty());
}

TEST(SlicesTest, SeveralDonorsShareTheSending) {
  std::vector<int64_t> sent(4);
  const Held held = {Shard{}, Shard{}, std::nullopt, std::nullopt};
  const Wanted wanted(4, Shard{});
  EXPECT_EQ(*PlanMoves(8, held, wanted, sent),
            (std::vector<SliceMove>{{0, 2, {0, 8}}, {1, 3, {0, 8}}}));
}

TEST(SlicesTest, AReceiverGathersItsSliceFromThoseWhoHoldPartsOfIt) {
  std::vector<int64_t> sent(3);
  const Held held = {Shard{0, 2}, Shard{1, 2}, std::nullopt};
  EXPECT_EQ(*PlanMoves(6, held, Wanted{Shard{0, 3}, Shard{1, 3}, Shard{2, 3}}, sent),
            (std::vector<SliceMove>{{0, 1, {2, 3}}, {1, 2, {4, 6}}}));
  EXPECT_EQ(sent, (std::vector<int64_t>{1, 2, 0}));
}

TEST(SlicesTest, ARankThatWantsNothingOfTheUnitGetsNothing) {
  std::vector<int64_t> sent(3);
  EXPECT_EQ(*PlanMoves(8, Held{Shard{}, std::nullopt, std::nullopt},
                       Wanted{Shard{}, std::nullopt, Shard{1, 2}}, sent),
            (std::vector<SliceMove>{{0, 2, {4, 8}}}));
}

// Whatever is held and wanted: if the holders cover the unit, every rank ends with its slice.
TEST(SlicesTest, EveryPlanOfCoveringHoldersFillsEverySliceOnce) {
  for (const int64_t chunks : {1, 2, 5, 12}) {
    for (int before = 1; before <= 5; ++before) {
      for (int after = 1; after <= 5; ++after) {
        for (int fresh = 0; fresh <= 2; ++fresh) {
          Held held;
          for (int i = 0; i < before; ++i) held.push_back(Shard{i, before});
          for (int i = 0; i < fresh; ++i) held.push_back(std::nullopt);
          Wanted wanted;
          for (size_t r = 0; r < held.size(); ++r) {
            wanted.push_back(Shard{static_cast<int>(r) % after, after});
          }
          std::vector<int64_t> sent(held.size());
          const auto moves = PlanMoves(chunks, held, wanted, sent);
          ASSERT_TRUE(moves.ok()) << moves.status();
          for (size_t r = 0; r < held.size(); ++r) {
            std::multiset<int64_t> has;
            const auto take = [&](const TreeNode& run) {
              for (int64_t c = run.begin; c < run.end; ++c) has.insert(c);
            };
            const TreeNode slice = SliceOf(chunks, *wanted[r]);
            if (held[r]) {
              const TreeNode own = SliceOf(chunks, *held[r]);
              take({std::max(own.begin, slice.begin), std::min(own.end, slice.end)});
            }
            for (const SliceMove& move : *moves) {
              if (move.to != static_cast<int>(r)) continue;
              ASSERT_TRUE(held[static_cast<size_t>(move.from)]);
              const TreeNode theirs = SliceOf(chunks, *held[static_cast<size_t>(move.from)]);
              EXPECT_LE(theirs.begin, move.chunks.begin);
              EXPECT_GE(theirs.end, move.chunks.end);
              take(move.chunks);
            }
            std::multiset<int64_t> all;
            for (int64_t c = slice.begin; c < slice.end; ++c) all.insert(c);
            EXPECT_EQ(has, all) << chunks << " chunks, " << before << " to " << after;
          }
        }
      }
    }
  }
}

// Memory that nothing was written to must not count as weights.
TEST(SlicesTest, APieceThatNoRankHoldsIsAnErrorThatNamesIt) {
  std::vector<int64_t> sent(3);
  const Held held = {Shard{0, 3}, Shard{2, 3}, std::nullopt};
  const auto moves = PlanMoves(6, held, Wanted{Shard{0, 1}, Shard{0, 1}, Shard{0, 1}}, sent);
  EXPECT_TRUE(absl::IsInternal(moves.status()));
  EXPECT_EQ(moves.status().message(),
            "no rank holds chunks 2 to 3 of 6, which rank 0 is to receive");
  EXPECT_FALSE(PlanMoves(6, Held{std::nullopt}, Wanted{Shard{0, 1}}, sent).ok());
}

}  // namespace
}  // namespace muster::trainer
