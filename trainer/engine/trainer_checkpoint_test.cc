// Tests rounds that go on from checkpoints: bad ones, their histories, and a last step that is not
// saved.
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/mutex.h"
#include "gtest/gtest.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/engine/testing/trainer_fixture.h"

namespace muster::trainer {
namespace {

using v1alpha1::ResumePoint;

TEST_F(TrainerTest, ABadCheckpointIsNamedAndAnotherRoundGoesOn) {
  auto a = Start();
  Prepare({a.get()});
  ResumePoint resume;
  resume.set_source(ResumePoint::CHECKPOINT);
  resume.mutable_checkpoint()->set_directory("step-000000007");
  a->Go(round_, resume);
  const v1alpha1::WorkerJoined joined = a->AwaitJoined();
  EXPECT_EQ(joined.error(), "step-000000007: no such checkpoint");
  EXPECT_EQ(joined.bad_checkpoint(), "step-000000007");
  EXPECT_FALSE(Prepare({a.get()})[0].has_applied());
  Go({a.get()}, Fresh(2));
  EXPECT_TRUE(a->AwaitFinished().succeeded());
}

TEST_F(TrainerTest, AFileSystemThatFailsMakesNoCheckpointBad) {
  auto a = Start();
  const auto positions = Prepare({a.get()});
  {
    MutexLock lock(disk_.mu);
    disk_.load_fault = absl::UnavailableError("input/output error");
  }
  v1alpha1::CheckpointRef checkpoint;
  checkpoint.set_directory("step-000000007");
  a->Go(round_, FromCheckpoint(checkpoint, 2));
  const v1alpha1::WorkerJoined joined = a->AwaitJoined();
  EXPECT_EQ(joined.error(), "step-000000007: input/output error");
  EXPECT_EQ(joined.bad_checkpoint(), "") << "it may be as good as ever";
}

TEST_F(TrainerTest, AHistoryIsKeptThroughCheckpointsAndRounds) {
  settings_.steps = 10;
  {
    auto a = Start();
    EXPECT_EQ(Prepare({a.get()})[0].history(), "") << "nothing is live";
    Go({a.get()}, Fresh(1));
    EXPECT_TRUE(a->AwaitFinished().succeeded());
    EXPECT_EQ(Prepare({a.get()})[0].history(), kHistory);
  }
  settings_.steps = 12;
  auto b = Start();
  const auto positions = Prepare({b.get()});
  ASSERT_EQ(positions[0].checkpoints_size(), 1);
  EXPECT_EQ(positions[0].checkpoints(0).history(), kHistory);
  Go({b.get()}, FromCheckpoint(positions[0].checkpoints(0), 2));
  EXPECT_TRUE(b->AwaitFinished().succeeded());
  const auto after = Prepare({b.get()});
  EXPECT_EQ(after[0].history(), kHistory);
  EXPECT_EQ(after[0].checkpoints(0).history(), kHistory);
}

TEST_F(TrainerTest, CheckpointsOfAnAbandonedRunAreSetAsideBeforeTheFirstStep) {
  settings_.steps = 10;
  {
    auto a = Start();
    Prepare({a.get()});
    Go({a.get()}, Fresh(1));
    EXPECT_TRUE(a->AwaitFinished().succeeded());
  }
  auto b = Start();
  Prepare({b.get()});
  ResumePoint anew = Fresh(2);
  anew.set_history("00000000000000bb");
  Go({b.get()}, anew);
  EXPECT_TRUE(b->AwaitFinished().succeeded());
  MutexLock lock(disk_.mu);
  ASSERT_EQ(disk_.set_aside.size(), 1u);
  EXPECT_EQ(disk_.set_aside.begin()->second.history, kHistory);
  ASSERT_EQ(disk_.saved.size(), 1u);
  EXPECT_EQ(disk_.saved.begin()->second.history, "00000000000000bb");
}

TEST_F(TrainerTest, AnUnsavedLastStepIsReportedAndSavedInTheNextRound) {
  settings_.steps = 5;
  {
    MutexLock lock(disk_.mu);
    disk_.save_fault = absl::ResourceExhaustedError("disk full");
  }
  auto a = Start();
  Prepare({a.get()});
  Go({a.get()}, Fresh(1));
  const v1alpha1::TrainerFinished unsaved = a->AwaitFinished();
  EXPECT_EQ(unsaved.version().step(), 5);
  EXPECT_FALSE(unsaved.has_durable());
  {
    MutexLock lock(disk_.mu);
    disk_.save_fault = absl::OkStatus();
  }
  const auto positions = Prepare({a.get()});
  Go({a.get()}, Live(positions[0], 2));
  const v1alpha1::TrainerFinished saved = a->AwaitFinished();
  EXPECT_EQ(saved.durable().step(), 5);
  EXPECT_EQ(a->outbox().Reports().size(), 5u) << "no step was trained twice";
}

TEST_F(TrainerTest, ACheckpointLoadedAtTheLastStepIsDurable) {
  settings_.steps = 5;
  {
    auto a = Start();
    Prepare({a.get()});
    Go({a.get()}, Fresh(1));
    EXPECT_TRUE(a->AwaitFinished().has_durable());
  }
  {
    MutexLock lock(disk_.mu);
    disk_.save_fault = absl::PermissionDeniedError("read-only file system");
  }
  auto b = Start();
  const auto positions = Prepare({b.get()});
  Go({b.get()}, FromCheckpoint(positions[0].checkpoints(0), 2));
  EXPECT_EQ(b->AwaitFinished().durable().step(), 5);
}

class TrainerStopTest : public TrainerTest {
 protected:
  // Three ranks hold step 8 and compute step 9.
  void SetUp() override {
    Prepare(Ranks());
    for (ThreadTrainer* rank : Ranks()) rank->feed().HoldAt(9);
    Go(Ranks(), Fresh(1));
    for (ThreadTrainer* rank : Ranks()) rank->feed().AwaitHeld();
  }
  std::vector<ThreadTrainer*> Ranks() { return {a_.get(), b_.get(), c_.get()}; }
  // The ranks that are left end well, and know that their step, `step` or a later one, is on disk.
  void ExpectSaved(const std::vector<ThreadTrainer*>& left, int64_t step) {
    for (ThreadTrainer* rank : left) {
      const v1alpha1::TrainerFinished finished = rank->AwaitFinished();
      EXPECT_TRUE(finished.succeeded()) << finished.message();
      EXPECT_GE(finished.version().step(), step);
      EXPECT_EQ(finished.durable().step(), finished.version().step());
    }
    MutexLock lock(disk_.mu);
    ASSERT_EQ(disk_.saved.size(), 1u);
    EXPECT_GE(disk_.saved.begin()->second.version.step(), step);
  }

  std::unique_ptr<ThreadTrainer> a_ = Start(), b_ = Start(), c_ = Start();
};

TEST_F(TrainerStopTest, SurvivorsSaveIfRankZeroDiesBeforeTheStop) {
  a_->Kill();
  for (ThreadTrainer* rank : {b_.get(), c_.get()}) {
    rank->feed().Release();
    rank->outbox().Await(v1alpha1::FromTrainer::kStalled);
  }
  for (ThreadTrainer* rank : {b_.get(), c_.get()}) rank->Stop(/*save=*/true);
  ExpectSaved({b_.get(), c_.get()}, 8);
}

TEST_F(TrainerStopTest, SurvivorsSaveIfRankZeroDiesAfterTheStop) {
  for (ThreadTrainer* rank : {b_.get(), c_.get()}) rank->Stop(/*save=*/true);
  a_->Kill();
  for (ThreadTrainer* rank : {b_.get(), c_.get()}) rank->feed().Release();
  ExpectSaved({b_.get(), c_.get()}, 8);
}

TEST_F(TrainerStopTest, SurvivorsSaveIfRankZeroDiesInTheSave) {
  {
    MutexLock lock(disk_.mu);
    disk_.stuck = {0};
  }
  for (ThreadTrainer* rank : Ranks()) rank->Stop(/*save=*/true);
  for (ThreadTrainer* rank : Ranks()) rank->feed().Release();
  {
    MutexLock lock(disk_.mu);
    while (disk_.begun.count(0) == 0) disk_.changed.Wait(disk_.mu);
  }
  a_->Kill();
  {
    MutexLock lock(disk_.mu);
    disk_.stuck.clear();
    disk_.changed.NotifyAll();
  }
  ExpectSaved({b_.get(), c_.get()}, 9);
}

TEST_F(TrainerStopTest, RankZeroSavesIfAnotherDiesInTheSave) {
  {
    MutexLock lock(disk_.mu);
    disk_.stuck = {1};
  }
  for (ThreadTrainer* rank : Ranks()) rank->Stop(/*save=*/true);
  for (ThreadTrainer* rank : Ranks()) rank->feed().Release();
  {
    MutexLock lock(disk_.mu);
    while (disk_.begun.count(1) == 0) disk_.changed.Wait(disk_.mu);
  }
  b_->Kill();
  ExpectSaved({a_.get(), c_.get()}, 9);
}

TEST_F(TrainerTest, AJobThatFailsForItsDataSavesFirst) {
  auto a = Start(), b = Start();
  Prepare({a.get(), b.get()});
  b->feed().FailFrom(9);
  Go({a.get(), b.get()}, Fresh(1));
  const v1alpha1::TrainerFinished finished = b->AwaitFinished();
  EXPECT_FALSE(finished.succeeded());
  EXPECT_EQ(finished.message(), "the data hold token 500 at position 7");
  EXPECT_EQ(finished.version().step(), 8);
  EXPECT_EQ(finished.durable().step(), 8);
  b->AwaitEnd();
  EXPECT_EQ(b->exit_code(), kExitBadInput);
}

TEST_F(TrainerTest, SurvivorsWithAPartOfTheStateDoNotReportAStopThatSavedNothingAsSuccess) {
  settings_.shards_saved_within = absl::ZeroDuration();
  auto a = Start(), b = Start();
  Prepare({a.get(), b.get()});
  for (ThreadTrainer* rank : {a.get(), b.get()}) rank->feed().HoldAt(9);
  Go({a.get(), b.get()}, Fresh(1), 2);
  for (ThreadTrainer* rank : {a.get(), b.get()}) rank->feed().AwaitHeld();
  a->Kill();
  b->feed().Release();
  b->outbox().Await(v1alpha1::FromTrainer::kStalled);
  b->Stop(/*save=*/true);
  const v1alpha1::TrainerFinished finished = b->AwaitFinished();
  EXPECT_FALSE(finished.succeeded());
  EXPECT_EQ(finished.message(),
            "stopped between rounds; step 8 is not saved: the ranks that are left have not "
            "completed a checkpoint of it within 0: perhaps none of them holds some part of the "
            "state");
}

}  // namespace
}  // namespace muster::trainer
