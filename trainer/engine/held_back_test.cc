// Tests saves that come due while an earlier checkpoint is still being written: no step waits.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/files/storage_trouble.h"
#include "base/mutex.h"
#include "gtest/gtest.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/engine/testing/trainer_fixture.h"

namespace muster::trainer {
namespace {

using v1alpha1::CheckpointReport;
using v1alpha1::FromTrainer;
using v1alpha1::ToTrainer;

class HeldBackTest : public TrainerTest {
 protected:
  // From now on the shares of these ranks are not written until there is another call.
  void SetStuck(std::set<int> ranks) {
    MutexLock lock(disk_.mu);
    disk_.stuck = std::move(ranks);
    disk_.changed.NotifyAll();
  }
  // Trains two ranks to the end. The shares of `stuck` are written once step 22 is done.
  void TrainBeside(const std::set<int>& stuck) {
    SetStuck(stuck);
    auto a = Start(), b = Start();
    Prepare({a.get(), b.get()});
    for (ThreadTrainer* rank : {a.get(), b.get()}) rank->feed().HoldAt(23);
    Go({a.get(), b.get()}, Fresh(1));
    for (ThreadTrainer* rank : {a.get(), b.get()}) rank->feed().AwaitHeld();
    SetStuck({});
    for (ThreadTrainer* rank : {a.get(), b.get()}) rank->feed().Release();
    for (ThreadTrainer* rank : {a.get(), b.get()}) EXPECT_TRUE(rank->AwaitFinished().succeeded());
    EXPECT_EQ(a->outbox().Reports().size(), static_cast<size_t>(kSteps));
  }
  std::vector<int64_t> SavedSteps() {
    MutexLock lock(disk_.mu);
    std::vector<int64_t> steps;
    for (const auto& [name, saved] : disk_.saved) steps.push_back(saved.version.step());
    return steps;
  }
};

void AwaitStep(ThreadTrainer& trainer, int64_t step) {
  while (true) {
    const FromTrainer message = trainer.outbox().Await(FromTrainer::kSteps);
    if (message.steps().steps().rbegin()->version().step() >= step) return;
  }
}

TEST_F(HeldBackTest, EveryRankSkipsASaveWhileOneOfThemStillWrites) {
  settings_.save_every_steps = 5;
  for (const std::set<int>& stuck : std::vector<std::set<int>>{{0}, {1}, {0, 1}}) {
    TrainBeside(stuck);
    EXPECT_EQ(SavedSteps(), (std::vector<int64_t>{5, 25, 30, 35, 40}));
    MutexLock lock(disk_.mu);
    disk_.saved.clear();
  }
}

TEST_F(HeldBackTest, AnIntervalByTimeThatIsOverIsMadeUpForAfterTheFirstStepThatMaySave) {
  settings_.save_every = absl::Nanoseconds(1);
  TrainBeside({1});
  const std::vector<int64_t> saved = SavedSteps();
  ASSERT_GT(saved.size(), 2u);
  EXPECT_EQ(saved[0], 1);
  EXPECT_EQ(saved[1], 23);
}

TEST_F(HeldBackTest, AnOrderToSaveStandsUntilTheRanksMaySave) {
  SetStuck({0});
  auto a = Start(), b = Start();
  Prepare({a.get(), b.get()});
  ToTrainer save;
  save.mutable_save();
  a->feed().HoldAt(5);
  Go({a.get(), b.get()}, Fresh(1));
  a->feed().AwaitHeld();
  a->Send(save);  // obeyed after step 5
  a->feed().HoldAt(10);
  a->feed().AwaitHeld();
  b->Send(save);
  a->feed().HoldAt(20);
  a->feed().AwaitHeld();
  EXPECT_EQ(SavedSteps(), std::vector<int64_t>{});
  SetStuck({});
  a->feed().Release();
  EXPECT_TRUE(a->AwaitFinished().succeeded());
  const std::vector<int64_t> saved = SavedSteps();
  ASSERT_EQ(saved.size(), 3u) << "two orders, and the last step";
  EXPECT_EQ(saved[0], 6);
  EXPECT_EQ(saved[1], 20);
  EXPECT_EQ(saved[2], kSteps);
}

TEST_F(HeldBackTest, TheLastSaveWaitsForTheEarlierOne) {
  settings_.save_every_steps = 5;
  SetStuck({1});
  auto a = Start(), b = Start();
  Prepare({a.get(), b.get()});
  Go({a.get(), b.get()}, Fresh(1));
  AwaitStep(*a, kSteps);
  // The first rank waits for no other rank; the second one waits for its own share of step 5.
  EXPECT_EQ(a->AwaitFinished().durable().step(), kSteps);
  SetStuck({});
  EXPECT_TRUE(b->AwaitFinished().succeeded());
  EXPECT_EQ(SavedSteps(), (std::vector<int64_t>{5, kSteps}));
}

TEST_F(HeldBackTest, AStopWithASaveWaitsForTheEarlierOneAndSavesItsOwnStep) {
  settings_.save_every_steps = 5;
  SetStuck({0});
  auto a = Start();
  Prepare({a.get()});
  a->feed().HoldAt(13);
  Go({a.get()}, Fresh(1));
  a->feed().AwaitHeld();
  a->Stop(/*save=*/true);
  a->feed().Release();
  AwaitStep(*a, 13);
  SetStuck({});
  const v1alpha1::TrainerFinished finished = a->AwaitFinished();
  EXPECT_EQ(finished.message(), "stopped");
  EXPECT_TRUE(finished.has_durable());
  EXPECT_EQ(SavedSteps(), (std::vector<int64_t>{5, finished.version().step()}));
}

TEST_F(HeldBackTest, ASaveThatTroubleHoldsUpIsReportedOnce) {
  settings_.save_every_steps = 5;
  {
    MutexLock lock(disk_.mu);
    disk_.trouble = StorageTrouble{absl::Seconds(70), "connection refused"};
  }
  SetStuck({0});
  auto a = Start();
  Prepare({a.get()});
  a->feed().HoldAt(23);
  Go({a.get()}, Fresh(1));
  a->feed().AwaitHeld();
  SetStuck({});
  a->feed().Release();
  EXPECT_TRUE(a->AwaitFinished().succeeded());
  const std::vector<CheckpointReport> reports = a->outbox().CheckpointReports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].phase(), CheckpointReport::FAILED);
  EXPECT_EQ(reports[0].version().step(), 10);
  EXPECT_EQ(reports[0].history(), kHistory);
  EXPECT_EQ(
      reports[0].error(),
      "the checkpoint of step 5 is still being written, for 0; the storage has been failing for "
      "1m10s: connection refused");
}

}  // namespace
}  // namespace muster::trainer
