// Tests rounds whose ranks divide the state, or the model: they end with the weights of ranks that
// trained undisturbed.

#include <algorithm>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/engine/testing/trainer_fixture.h"

namespace muster::trainer {
namespace {

using v1alpha1::FromTrainer;
using v1alpha1::RankPosition;
using v1alpha1::ResumePoint;

using Ranks = std::vector<ThreadTrainer*>;

// Decides as the operator does, if the slices of the newest version cover it: that version, after a
// relay to ranks one step behind.
ResumePoint ResumeOf(const std::vector<RankPosition>& positions, int64_t attempt) {
  const auto newest = std::max_element(
      positions.begin(), positions.end(),
      [](const auto& a, const auto& b) { return a.applied().step() < b.applied().step(); });
  ResumePoint resume = Live(*newest, attempt);
  resume.set_donor(-1);
  for (int r = 0; r < static_cast<int>(positions.size()); ++r) {
    const RankPosition& position = positions[static_cast<size_t>(r)];
    *resume.add_slices() = position.slice();
    if (!position.has_applied()) {
      resume.add_receivers(r);
      continue;
    }
    if (resume.donor() < 0) resume.set_donor(r);
    if (position.applied().step() == newest->applied().step()) continue;
    EXPECT_EQ(position.sealed().step(), newest->applied().step());
    *resume.mutable_relay() = newest->decisions(0);
  }
  return resume;
}

class TrainerShardedTest : public TrainerTest {
 protected:
  // Trains until every rank computes step 9, then kills `victim`; the others hold.
  void KillInStepNine(const Ranks& ranks, ThreadTrainer* victim) {
    for (ThreadTrainer* rank : ranks) rank->feed().AwaitHeld();
    victim->Kill();
    for (ThreadTrainer* rank : ranks) {
      if (rank == victim) continue;
      rank->feed().Release();
      EXPECT_GE(rank->outbox().Await(FromTrainer::kStalled).stalled().version().step(), 8);
    }
  }
  // Waits until every rank computes step 9, and prepares a next round of the same ranks.
  std::vector<RankPosition> PrepareAgainInStepNine(const Ranks& ranks) {
    for (ThreadTrainer* rank : ranks) rank->feed().AwaitHeld();
    ++round_;
    const int count = static_cast<int>(ranks.size());
    for (int r = 0; r < count; ++r) ranks[static_cast<size_t>(r)]->Prepare(round_, r, count);
    for (ThreadTrainer* rank : ranks) rank->feed().Release();
    return AwaitReady(ranks);
  }
};

TEST_F(TrainerShardedTest, RanksThatDivideTheStateTrainToTheEnd) {
  auto a = Start(), b = Start(), c = Start();
  const Ranks ranks = {a.get(), b.get(), c.get()};
  Prepare(ranks);
  Go(ranks, Fresh(1), 3);
  ExpectUndisturbedWeights(ranks);
}

TEST_F(TrainerShardedTest, SurvivorsOfEveryShardGoOnInPlaceAndAReplacementJoins) {
  auto a = Start(), b = Start(), c = Start(), d = Start();
  const Ranks ranks = {a.get(), b.get(), c.get(), d.get()};
  Prepare(ranks);
  for (ThreadTrainer* rank : ranks) rank->feed().HoldAt(9);
  Go(ranks, Fresh(1), 2);
  KillInStepNine(ranks, b.get());
  auto e = Start();
  // The replacement stands first, so that every rank of its copy has another shard than before.
  const Ranks next = {e.get(), a.get(), c.get(), d.get()};
  const auto positions = Prepare(next);
  EXPECT_EQ(positions[1].slice().shard(), 0);
  EXPECT_EQ(positions[3].slice().shard(), 1);
  EXPECT_EQ(positions[3].slice().shards(), 2);
  Go(next, ResumeOf(positions, 2), 2);
  ExpectUndisturbedWeights(next);
}

TEST_F(TrainerShardedTest, ThreeSurvivorsOfTwoCopiesGoOnWithoutADivision) {
  auto a = Start(), b = Start(), c = Start(), d = Start();
  const Ranks ranks = {a.get(), b.get(), c.get(), d.get()};
  Prepare(ranks);
  for (ThreadTrainer* rank : ranks) rank->feed().HoldAt(9);
  Go(ranks, Fresh(1), 2);
  KillInStepNine(ranks, d.get());
  const Ranks next = {a.get(), b.get(), c.get()};
  Go(next, ResumeOf(Prepare(next), 2));
  ExpectUndisturbedWeights(next);
}

TEST_F(TrainerShardedTest, ALivingJobBeginsToDivideItsState) {
  auto a = Start(), b = Start();
  const Ranks ranks = {a.get(), b.get()};
  Prepare(ranks);
  for (ThreadTrainer* rank : ranks) rank->feed().HoldAt(9);
  Go(ranks, Fresh(1));
  const auto positions = PrepareAgainInStepNine(ranks);
  EXPECT_EQ(positions[0].slice().shards(), 0);
  Go(ranks, ResumeOf(positions, 2), 2);
  ExpectUndisturbedWeights(ranks);
}

// Sums are rounded in another order then, so the bits are those of no other run.
TEST_F(TrainerShardedTest, ALivingJobBeginsToDivideItsSequences) {
  auto a = Start(), b = Start();
  const Ranks ranks = {a.get(), b.get()};
  Prepare(ranks);
  for (ThreadTrainer* rank : ranks) rank->feed().HoldAt(9);
  Go(ranks, Fresh(1));
  const ResumePoint resume = ResumeOf(PrepareAgainInStepNine(ranks), 2);
  v1alpha1::Mesh mesh;
  mesh.set_context(2);
  for (ThreadTrainer* rank : ranks) rank->Go(round_, resume, mesh);
  for (ThreadTrainer* rank : ranks) {
    EXPECT_EQ(rank->AwaitJoined().error(), "");
    const v1alpha1::TrainerFinished finished = rank->AwaitFinished();
    EXPECT_TRUE(finished.succeeded()) << finished.message();
    rank->Kill();
  }
  EXPECT_EQ(WeightsOf(*a), WeightsOf(*b));
}

class TrainerTensorTest : public TrainerShardedTest {
 protected:
  TrainerTensorTest() {
    options_.parts = 2;
    settings_.validate_every = 0;
  }
  // Starts the rank that has this part of the model.
  std::unique_ptr<ThreadTrainer> StartPart(int part) {
    settings_.local_rank = part;
    return Start();
  }
  // Awaits the end of ranks that have the parts 0 and 1 in turn, with the weights of two ranks that
  // trained undisturbed.
  void ExpectUndisturbedParts(const Ranks& ranks) {
    for (ThreadTrainer* rank : ranks) {
      const v1alpha1::TrainerFinished finished = rank->AwaitFinished();
      EXPECT_TRUE(finished.succeeded()) << finished.message();
      rank->Kill();
    }
    const auto first = StartPart(0), second = StartPart(1);
    const Ranks both = {first.get(), second.get()};
    Prepare(both);
    Go(both, Fresh(1));
    for (ThreadTrainer* rank : both) {
      EXPECT_TRUE(rank->AwaitFinished().succeeded());
      rank->Kill();
    }
    for (size_t r = 0; r < ranks.size(); ++r) {
      EXPECT_EQ(WeightsOf(*ranks[r]), WeightsOf(*both[r % 2])) << r;
    }
  }
};

TEST_F(TrainerTensorTest, ReplacementsOfALostTensorGroupReceiveEachItsPart) {
  const auto a = StartPart(0), b = StartPart(1), c = StartPart(0), d = StartPart(1);
  const Ranks ranks = {a.get(), b.get(), c.get(), d.get()};
  Prepare(ranks);
  for (ThreadTrainer* rank : ranks) rank->feed().HoldAt(9);
  Go(ranks, Fresh(1));
  KillInStepNine(ranks, b.get());
  a->Kill();
  const auto e = StartPart(0), f = StartPart(1);
  const Ranks next = {e.get(), f.get(), c.get(), d.get()};
  const auto positions = Prepare(next);
  EXPECT_EQ(positions[2].slice().shard(), 0);
  EXPECT_EQ(positions[3].slice().shard(), 1);
  EXPECT_EQ(positions[3].slice().shards(), 2);
  EXPECT_EQ(positions[3].slice().parts(), 2);
  Go(next, ResumeOf(positions, 2));
  ExpectUndisturbedParts(next);
}

TEST_F(TrainerTensorTest, TheRanksOfAPartCeaseToDivideIt) {
  options_.divided = {.values = true, .gradients = true};
  const auto a = StartPart(0), b = StartPart(1), c = StartPart(0), d = StartPart(1);
  const Ranks ranks = {a.get(), b.get(), c.get(), d.get()};
  Prepare(ranks);
  for (ThreadTrainer* rank : ranks) rank->feed().HoldAt(9);
  Go(ranks, Fresh(1), 2);
  const auto positions = PrepareAgainInStepNine(ranks);
  EXPECT_EQ(positions[3].slice().shard(), 3);
  EXPECT_EQ(positions[1].slice().shard(), 2) << "the first shard of the second part";
  EXPECT_EQ(positions[1].slice().shards(), 4);
  Go(ranks, ResumeOf(positions, 2), 1);
  ExpectUndisturbedParts(ranks);
}

TEST_F(TrainerTensorTest, ARankIsNotMadeForAnotherPart) {
  const auto a = StartPart(0), b = StartPart(0);
  const Ranks ranks = {a.get(), b.get()};
  Prepare(ranks);
  v1alpha1::Mesh mesh;
  mesh.set_tensor(2);
  for (ThreadTrainer* rank : ranks) rank->Go(round_, Fresh(1), mesh);
  EXPECT_EQ(b->AwaitJoined().error(),
            "the round needs part 1 of 2 of the model, and this rank was made for part 0 of 2");
}

TEST_F(TrainerShardedTest, ALayoutThatTheRanksDoNotFillIsRefused) {
  auto a = Start(), b = Start();
  const Ranks ranks = {a.get(), b.get()};
  Prepare(ranks);
  v1alpha1::Mesh mesh;
  mesh.set_data(2);
  mesh.set_shard(2);
  for (ThreadTrainer* rank : ranks) {
    rank->Go(round_, Fresh(1), mesh);
    EXPECT_EQ(rank->AwaitJoined().error(),
              "a mesh of 1 pipeline x 2 data x 2 shard x 1 context x 1 tensor x 1 expert is 4 "
              "ranks, and there are 2");
  }
}

}  // namespace
}  // namespace muster::trainer
