// Tests that a bit that has changed in one rank's memory does not win for the rank's number.

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/engine/testing/trainer_fixture.h"

namespace muster::trainer {
namespace {

using ::testing::HasSubstr;
using v1alpha1::RankPosition;

class TrainerDifferTest : public TrainerTest {
 protected:
  TrainerDifferTest() { settings_.save_every_steps = 10; }

  // Trains until the ranks have applied the step before `step`, and prepares another round.
  std::vector<RankPosition> TrainTo(int64_t step, const std::vector<ThreadTrainer*>& ranks) {
    Prepare(ranks);
    for (ThreadTrainer* rank : ranks) rank->feed().HoldAt(step);
    Go(ranks, Fresh(1));
    for (ThreadTrainer* rank : ranks) rank->feed().AwaitHeld();
    ++round_;
    const int world = static_cast<int>(ranks.size());
    for (int r = 0; r < world; ++r) ranks[static_cast<size_t>(r)]->Prepare(round_, r, world);
    for (ThreadTrainer* rank : ranks) rank->feed().Release();
    return AwaitReady(ranks);
  }
  static void Spoil(ThreadTrainer& rank) {
    rank.state().units()[0].held().values.narrow(0, 3, 1).add_(1.0);
  }
  // Lets the ranks go on from what they hold, which differs, and returns their answers.
  std::vector<v1alpha1::WorkerJoined> GoOn(const std::vector<ThreadTrainer*>& ranks,
                                           const RankPosition& position) {
    for (ThreadTrainer* rank : ranks) rank->Go(round_, Live(position, round_));
    std::vector<v1alpha1::WorkerJoined> joined;
    for (ThreadTrainer* rank : ranks) joined.push_back(rank->AwaitJoined());
    return joined;
  }
};

TEST_F(TrainerDifferTest, TheFirstRankReceivesFromTheMajorityAndTheRunIsUndisturbed) {
  auto a = Start(), b = Start(), c = Start();
  const std::vector<ThreadTrainer*> ranks = {a.get(), b.get(), c.get()};
  const auto before = TrainTo(15, ranks);
  Spoil(*a);
  for (const auto& joined : GoOn(ranks, before[1])) {
    EXPECT_THAT(joined.error(), HasSubstr("rank 0 and ranks 1 and 2 differ at step 14"));
    EXPECT_FALSE(joined.undecided());
  }
  const auto after = Prepare(ranks);
  EXPECT_FALSE(after[0].has_applied());
  v1alpha1::ResumePoint resume = Live(after[1], round_);
  resume.set_donor(1);
  resume.add_receivers(0);
  Go(ranks, resume);
  ExpectUndisturbedWeights(ranks);
}

// No rank is lost: the ranks find the difference by themselves, at the next step at which they
// compare.
TEST_F(TrainerDifferTest, RanksThatCompareAsTheyTrainFindAWrongOneWhichReceives) {
  settings_.compare_every = 7;
  auto a = Start(), b = Start(), c = Start();
  const std::vector<ThreadTrainer*> ranks = {a.get(), b.get(), c.get()};
  Prepare(ranks);
  for (ThreadTrainer* rank : ranks) rank->feed().HoldAt(14);
  Go(ranks, Fresh(1));
  for (ThreadTrainer* rank : ranks) rank->feed().AwaitHeld();
  Spoil(*b);
  for (ThreadTrainer* rank : ranks) rank->feed().Release();
  for (ThreadTrainer* rank : ranks) {
    const auto stalled = rank->outbox().Await(v1alpha1::FromTrainer::kStalled).stalled();
    EXPECT_THAT(stalled.error(), HasSubstr("rank 1 and ranks 0 and 2 differ at step 14"));
    EXPECT_EQ(stalled.version().step(), rank == b.get() ? 0 : 14);
  }
  const auto after = Prepare(ranks);
  EXPECT_FALSE(after[1].has_applied());
  v1alpha1::ResumePoint resume = Live(after[0], round_);
  resume.add_receivers(1);
  Go(ranks, resume);
  for (ThreadTrainer* rank : ranks) {
    EXPECT_TRUE(rank->AwaitFinished().succeeded());
    rank->Kill();
  }
  for (ThreadTrainer* rank : ranks) EXPECT_EQ(WeightsOf(*rank), WeightsOf(*a));
}

TEST_F(TrainerDifferTest, OfTwoTheOneGoesOnThatHasWhatTheCheckpointHas) {
  auto a = Start(), b = Start();
  const std::vector<ThreadTrainer*> ranks = {a.get(), b.get()};
  const auto before = TrainTo(11, ranks);
  Spoil(*a);
  for (const auto& joined : GoOn(ranks, before[1])) {
    EXPECT_THAT(joined.error(), HasSubstr("the latter have what the checkpoint has"));
  }
  const auto after = Prepare(ranks);
  EXPECT_FALSE(after[0].has_applied());
  EXPECT_TRUE(after[1].has_applied());
}

TEST_F(TrainerDifferTest, TwoWithoutACheckpointOfTheirStepHoldAndASuspendSavesNeither) {
  auto a = Start(), b = Start();
  const std::vector<ThreadTrainer*> ranks = {a.get(), b.get()};
  const auto before = TrainTo(15, ranks);
  Spoil(*b);
  for (const auto& joined : GoOn(ranks, before[0])) {
    EXPECT_THAT(joined.error(), HasSubstr("nothing tells which is right"));
    EXPECT_TRUE(joined.undecided());
  }
  for (const RankPosition& position : Prepare(ranks)) EXPECT_EQ(position.applied().step(), 14);
  a->Stop(/*save=*/true);
  EXPECT_FALSE(a->AwaitFinished().has_durable());
  MutexLock lock(disk_.mu);
  ASSERT_EQ(disk_.saved.size(), 1u);
  EXPECT_EQ(disk_.saved.begin()->second.version.step(), 10);
}

}  // namespace
}  // namespace muster::trainer
