// Tests rounds that go on from checkpoints: bad ones, their histories, and a last step that is not
// saved.

#include "absl/status/status.h"
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

}  // namespace
}  // namespace muster::trainer
