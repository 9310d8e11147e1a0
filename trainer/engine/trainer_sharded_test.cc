// Tests rounds whose ranks divide the state: they end with the weights of one rank that trained
// undisturbed.

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
  for (ThreadTrainer* rank : ranks) rank->feed().AwaitHeld();
  ++round_;
  for (int r = 0; r < 2; ++r) ranks[static_cast<size_t>(r)]->Prepare(round_, r, 2);
  for (ThreadTrainer* rank : ranks) rank->feed().Release();
  const auto positions = AwaitReady(ranks);
  EXPECT_EQ(positions[0].slice().shards(), 0);
  Go(ranks, ResumeOf(positions, 2), 2);
  ExpectUndisturbedWeights(ranks);
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
