// Tests rounds whose checkpoint directory cannot be listed or written, and the changes to it that a
// new spec brings.
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
using v1alpha1::TrainingJobSpec;

TEST_F(TrainerTest, ADirectoryThatCannotBeListedIsReportedAndNotTakenForEmpty) {
  auto a = Start();
  EXPECT_EQ(Prepare({a.get()})[0].listing_error(), "");
  {
    MutexLock lock(disk_.mu);
    disk_.list_fault = absl::PermissionDeniedError("denied");
  }
  EXPECT_EQ(Prepare({a.get()})[0].listing_error(), "denied");
}

TEST_F(TrainerTest, ADirectoryThatCannotBeWrittenIsFoundBeforeTheFirstStep) {
  {
    MutexLock lock(disk_.mu);
    disk_.claim_fault = absl::PermissionDeniedError("/ck: read-only file system");
  }
  auto a = Start();
  Prepare({a.get()});
  a->Go(round_, Fresh(1));
  const v1alpha1::TrainerFinished finished = a->AwaitFinished();
  EXPECT_FALSE(finished.succeeded());
  EXPECT_EQ(finished.message(), "checkpoint.uri: /ck: read-only file system");
  EXPECT_TRUE(a->outbox().Reports().empty()) << "it trained";
}

void SetWriteFault(MemoryCheckpoints::Disk& disk, const absl::Status& fault) {
  MutexLock lock(disk.mu);
  disk.write_fault = fault;
}

TEST_F(TrainerTest, ADirectoryThatBecameReadOnlyIsFoundBeforeTheFirstStepAndWaitedFor) {
  auto before = Start();
  Prepare({before.get()});
  Go({before.get()}, Fresh(1));
  before->Stop(/*save=*/true);
  before->AwaitFinished();
  before->Kill();
  auto a = Start();
  const std::vector<v1alpha1::RankPosition> positions = Prepare({a.get()});
  ASSERT_EQ(positions[0].checkpoints_size(), 1);
  const ResumePoint resumes[] = {FromCheckpoint(positions[0].checkpoints(0), 2), Fresh(2)};
  for (const ResumePoint& resume : resumes) {
    SetWriteFault(disk_, absl::PermissionDeniedError("/ck: read-only file system"));
    Prepare({a.get()});
    a->Go(round_, resume);
    EXPECT_EQ(a->AwaitJoined().error(),
              "checkpoint.uri cannot be written: /ck: read-only file system; the job goes on when "
              "it can be");
  }
  EXPECT_TRUE(a->outbox().Reports().empty()) << "it trained";
  SetWriteFault(disk_, absl::OkStatus());
  Prepare({a.get()});
  Go({a.get()}, resumes[0]);
  EXPECT_TRUE(a->AwaitFinished().succeeded());
}

TEST_F(TrainerTest, ADirectoryThatBecameReadOnlyIsReportedAndLiveStateGoesOn) {
  settings_.steps = 1 << 20;
  auto a = Start();
  Prepare({a.get()});
  Go({a.get()}, Fresh(1));
  SetWriteFault(disk_, absl::PermissionDeniedError("/ck: read-only file system"));
  const v1alpha1::RankPosition position = Prepare({a.get()})[0];
  ASSERT_TRUE(position.has_applied());
  a->Go(round_, Live(position, 2));
  const v1alpha1::CheckpointReport report =
      a->outbox().Await(v1alpha1::FromTrainer::kCheckpoint).checkpoint();
  EXPECT_EQ(report.phase(), v1alpha1::CheckpointReport::FAILED);
  EXPECT_EQ(report.error(), "/ck: read-only file system");
  EXPECT_EQ(report.version().step(), position.applied().step());
  EXPECT_EQ(a->AwaitJoined().error(), "");
}

// Two machines have a volume of their own under one path.
TEST_F(TrainerTest, ADirectoryThatIsNotOneForAllRanksIsFoundBeforeTheFirstStep) {
  settings_.mark_seen_within = absl::ZeroDuration();
  MemoryCheckpoints::Disk other;
  auto a = Start();
  ThreadTrainer b(options_, settings_, rounds_, other);
  Prepare({a.get(), &b});
  a->Go(round_, Fresh(1));
  b.Go(round_, Fresh(1));
  const v1alpha1::TrainerFinished finished = b.AwaitFinished();
  EXPECT_FALSE(finished.succeeded());
  EXPECT_EQ(finished.message(),
            "checkpoint.uri: rank 1 does not see what rank 0 has written there: it must be one "
            "directory for all workers, as of a ReadWriteMany volume (/ck/claim/round.json: is of "
            "another round)");
  b.Kill();
  EXPECT_EQ(b.exit_code(), kExitBadInput);
  EXPECT_TRUE(a->outbox().Reports().empty()) << "it trained";
}

TEST_F(TrainerTest, ADirectoryOfAllRanksIsFoundToBeOneWithoutAnyPatience) {
  settings_.mark_seen_within = absl::ZeroDuration();
  auto a = Start();
  auto b = Start();
  Prepare({a.get(), b.get()});
  Go({a.get(), b.get()}, Fresh(1));
}

TEST_F(TrainerTest, AMarkThatCannotBeWrittenProvesNothing) {
  settings_.mark_seen_within = absl::ZeroDuration();
  SetWriteFault(disk_, absl::ResourceExhaustedError("/ck: no space left on device"));
  auto a = Start();
  auto b = Start();
  Prepare({a.get(), b.get()});
  Go({a.get(), b.get()}, Fresh(1));
}

TEST_F(TrainerTest, TrainingBeginsOnAFullDisk) {
  SetWriteFault(disk_, absl::ResourceExhaustedError("/ck: no space left on device"));
  auto a = Start();
  Prepare({a.get()});
  Go({a.get()}, Fresh(1));
}

TEST_F(TrainerTest, KeepAndStepDeadlineTakeEffectWithTheNextRoundInALivingProcess) {
  settings_.steps = 1 << 20;
  auto a = Start();
  TrainingJobSpec spec = Spec(1 << 20, 8, 1e-3);
  spec.mutable_checkpoint()->set_keep(5);
  spec.mutable_elastic()->set_step_deadline("90s");
  Prepare({a.get()}, &spec, "one");
  Go({a.get()}, Fresh(1));
  spec.mutable_checkpoint()->set_keep(7);
  spec.mutable_elastic()->set_step_deadline("20s");
  const v1alpha1::RankPosition position = Prepare({a.get()}, &spec, "one")[0];
  Go({a.get()}, Live(position, 2));
  {
    MutexLock lock(rounds_.mu);
    EXPECT_EQ(rounds_.deadline, absl::Seconds(20));
  }
  MutexLock lock(disk_.mu);
  EXPECT_EQ(disk_.keep, 7);
}

}  // namespace
}  // namespace muster::trainer
