#include "trainer/engine/trainer.h"

#include <string>
#include <vector>

#include "base/exit_codes.h"
#include "base/mutex.h"
#include "c10/core/ScalarType.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/commit/loss_scale.h"
#include "trainer/commit/spike_watch.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/engine/testing/trainer_fixture.h"

namespace muster::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::StartsWith;
using v1alpha1::FromTrainer;
using v1alpha1::ResumePoint;
using v1alpha1::TrainingJobSpec;

TEST_F(TrainerTest, TwoRanksTrainToTheEndAndReportEveryStepOnce) {
  auto a = Start(), b = Start();
  for (const auto& position : Prepare({a.get(), b.get()})) {
    EXPECT_FALSE(position.has_applied());
    EXPECT_EQ(position.checkpoints_size(), 0);
  }
  Go({a.get(), b.get()}, Fresh(1));
  for (ThreadTrainer* rank : {a.get(), b.get()}) {
    const v1alpha1::TrainerFinished finished = rank->AwaitFinished();
    EXPECT_TRUE(finished.succeeded()) << finished.message();
    EXPECT_EQ(finished.version().step(), kSteps);
    EXPECT_GT(finished.times().compute(), 0.0);
  }
  const std::vector<v1alpha1::StepReport> reports = a->outbox().Reports();
  ASSERT_EQ(reports.size(), kSteps);
  for (int64_t i = 0; i < kSteps; ++i) {
    EXPECT_EQ(reports[i].version().step(), i + 1);
    EXPECT_EQ(reports[i].has_validation_loss(), (i + 1) % 20 == 0);
    EXPECT_TRUE(reports[i].applied());
  }
  EXPECT_LT(reports.back().loss(), reports.front().loss());
  EXPECT_TRUE(b->outbox().Reports().empty());
  a->Kill();
  b->Kill();
  EXPECT_EQ(WeightsOf(*a), WeightsOf(*b));
  EXPECT_EQ(WeightsOf(*a), Undisturbed());
  MutexLock lock(disk_.mu);
  EXPECT_EQ(disk_.saved.size(), 1) << "the last step is saved";
}

// Survivors go on in place, the replacement gets the state from one of them, and the weights end as
// if nothing had happened.
TEST_F(TrainerTest, AReplacementReceivesTheStateOfASurvivor) {
  auto a = Start(), b = Start(), c = Start();
  Prepare({a.get(), b.get(), c.get()});
  for (ThreadTrainer* rank : {a.get(), b.get(), c.get()}) rank->feed().HoldAt(9);
  Go({a.get(), b.get(), c.get()}, Fresh(1));
  for (ThreadTrainer* rank : {a.get(), b.get(), c.get()}) rank->feed().AwaitHeld();
  b->Kill();
  a->feed().Release();
  c->feed().Release();
  EXPECT_EQ(a->outbox().Await(FromTrainer::kStalled).stalled().version().step(), 8);
  auto d = Start();
  const auto positions = Prepare({a.get(), d.get(), c.get()});
  ASSERT_TRUE(positions[0].has_applied());
  ASSERT_TRUE(positions[2].has_applied());
  EXPECT_FALSE(positions[1].has_applied());
  // Decides as the operator does: the newest version, or a relay to those one step behind.
  const bool a_ahead = positions[0].applied().step() >= positions[2].applied().step();
  const auto& ahead = positions[a_ahead ? 0 : 2];
  const auto& behind = positions[a_ahead ? 2 : 0];
  ResumePoint resume;
  resume.set_source(ResumePoint::LIVE);
  *resume.mutable_version() = ahead.applied();
  resume.set_donor(0);
  resume.add_receivers(1);
  resume.set_next_attempt(2);
  if (behind.applied().step() < ahead.applied().step()) {
    ASSERT_EQ(behind.sealed().step(), ahead.applied().step());
    *resume.mutable_relay() = ahead.decisions(0);
  }
  const int64_t whole = BytesHeld(*a);
  EXPECT_THAT(Go({a.get(), d.get(), c.get()}, resume), ElementsAre(0, whole, 0));
  for (ThreadTrainer* rank : {a.get(), d.get(), c.get()}) {
    EXPECT_TRUE(rank->AwaitFinished().succeeded());
    rank->Kill();
  }
  const std::vector<int64_t> want = Undisturbed();
  for (ThreadTrainer* rank : {a.get(), d.get(), c.get()}) EXPECT_EQ(WeightsOf(*rank), want);
}

TEST_F(TrainerTest, AStopWithSaveEndsAllRanksAfterTheSameStepAndACheckpointResumesOnOneMore) {
  auto a = Start(), b = Start();
  Prepare({a.get(), b.get()});
  a->feed().HoldAt(5);
  b->feed().HoldAt(5);
  Go({a.get(), b.get()}, Fresh(1));
  b->feed().AwaitHeld();
  b->Stop(true);  // one rank's agent is enough
  a->feed().Release();
  b->feed().Release();
  const v1alpha1::TrainerFinished of_a = a->AwaitFinished(), of_b = b->AwaitFinished();
  EXPECT_TRUE(of_a.succeeded());
  EXPECT_EQ(of_a.message(), "stopped");
  EXPECT_EQ(of_a.version().step(), of_b.version().step());
  ASSERT_LT(of_a.version().step(), kSteps);

  auto c = Start(), d = Start(), e = Start();
  const auto positions = Prepare({c.get(), d.get(), e.get()});
  ASSERT_EQ(positions[0].checkpoints_size(), 1);
  EXPECT_EQ(positions[0].checkpoints(0).version().step(), of_a.version().step());
  ResumePoint resume;
  resume.set_source(ResumePoint::CHECKPOINT);
  *resume.mutable_checkpoint() = positions[0].checkpoints(0);
  *resume.mutable_version() = resume.checkpoint().version();
  resume.set_next_attempt(5);
  Go({c.get(), d.get(), e.get()}, resume);
  for (ThreadTrainer* rank : {c.get(), d.get(), e.get()}) {
    EXPECT_TRUE(rank->AwaitFinished().succeeded());
    rank->Kill();
  }
  EXPECT_EQ(WeightsOf(*d), Undisturbed());
}

// Counts how often the ranks were given each sample in [begin, end).
std::vector<int> TimesUsed(const std::vector<ThreadTrainer*>& ranks, int64_t begin, int64_t end) {
  std::vector<int> times(static_cast<size_t>(end - begin));
  for (ThreadTrainer* rank : ranks) {
    for (const int64_t sample : rank->feed().samples()) {
      if (sample >= begin && sample < end) ++times[static_cast<size_t>(sample - begin)];
    }
  }
  return times;
}

TEST_F(TrainerTest, BatchRateAndRanksChangeInOneRoundAndNoSampleIsSkippedOrUsedTwice) {
  auto a = Start(), b = Start();
  const TrainingJobSpec small = Spec(8, 8, 1e-3);
  Prepare({a.get(), b.get()}, &small, "small");
  for (ThreadTrainer* rank : {a.get(), b.get()}) rank->feed().HoldAt(4);
  Go({a.get(), b.get()}, Fresh(1));
  for (ThreadTrainer* rank : {a.get(), b.get()}) rank->feed().AwaitHeld();
  auto c = Start();
  const std::vector<ThreadTrainer*> three = {a.get(), b.get(), c.get()};
  const TrainingJobSpec large = Spec(8, 20, 5e-4);
  ++round_;
  for (int r = 0; r < 3; ++r) three[static_cast<size_t>(r)]->Prepare(round_, r, 3, &large, "large");
  for (ThreadTrainer* rank : {a.get(), b.get()}) rank->feed().Release();
  const auto positions = AwaitReady(three);
  EXPECT_EQ(positions[0].applied().step(), 3);
  EXPECT_EQ(positions[1].applied().step(), 3);
  EXPECT_EQ(a->state().counts().samples, 24);
  // The part of the fourth step that was begun is done again.
  EXPECT_EQ(TimesUsed({a.get(), b.get()}, 0, 24), std::vector<int>(24, 1));
  for (ThreadTrainer* rank : {a.get(), b.get()}) rank->feed().Forget();
  ResumePoint resume;
  resume.set_source(ResumePoint::LIVE);
  resume.set_history(kHistory);
  *resume.mutable_version() = positions[0].applied();
  resume.add_receivers(2);
  resume.set_next_attempt(2);
  Go(three, resume);
  for (ThreadTrainer* rank : three) EXPECT_TRUE(rank->AwaitFinished().succeeded());
  EXPECT_EQ(TimesUsed(three, 24, 124), std::vector<int>(100, 1)) << "five steps of twenty";
  EXPECT_EQ(TimesUsed(three, 124, 1000), std::vector<int>(876, 0));
  for (const v1alpha1::StepReport& report : a->outbox().Reports()) {
    EXPECT_EQ(report.learning_rate(), report.version().step() <= 3 ? 1e-3 : 5e-4);
  }

  // The job goes on again from the checkpoint, in new processes.
  auto d = Start();
  const TrainingJobSpec longer = Spec(10, 6, 5e-4);
  const auto saved = Prepare({d.get()}, &longer, "longer");
  resume.Clear();
  resume.set_source(ResumePoint::CHECKPOINT);
  resume.set_history(kHistory);
  *resume.mutable_checkpoint() = saved[0].checkpoints(0);
  *resume.mutable_version() = resume.checkpoint().version();
  resume.set_next_attempt(3);
  Go({d.get()}, resume);
  EXPECT_TRUE(d->AwaitFinished().succeeded());
  EXPECT_EQ(TimesUsed({d.get()}, 124, 136), std::vector<int>(12, 1));
  EXPECT_EQ(d->feed().samples().size(), 12u);
}

TEST_F(TrainerTest, RanksWithDifferentSpecsDoNotJoin) {
  auto a = Start(), b = Start();
  const TrainingJobSpec one = Spec(3, 8, 1e-3), other = Spec(3, 8, 0.1);
  ++round_;
  a->Prepare(round_, 0, 2, &one, "one");
  b->Prepare(round_, 1, 2, &other, "other");
  AwaitReady({a.get(), b.get()});
  a->Go(round_, Fresh(1));
  b->Go(round_, Fresh(1));
  const std::string want = "rank 1 and rank 0 were given different specs";
  EXPECT_EQ(a->AwaitJoined().error(), want);
  EXPECT_EQ(b->AwaitJoined().error(), want);
  Prepare({a.get(), b.get()}, &other, "other");
  a->Go(round_, Fresh(2));
  b->Go(round_, Fresh(2));
  EXPECT_EQ(a->AwaitJoined().trajectory(), "other");
  EXPECT_EQ(b->AwaitJoined().trajectory(), "other");
  EXPECT_TRUE(a->AwaitFinished().succeeded());
  EXPECT_EQ(a->outbox().Reports().front().learning_rate(), 0.1);
}

TEST_F(TrainerTest, ASpecThatALiveRankCannotFollowIsRefusedWithItsFieldAndTheOldOneGoesOn) {
  auto a = Start();
  TrainingJobSpec spec = Spec(3, 8, 1e-3);
  spec.mutable_trainer()->mutable_train()->set_seed(43);
  Prepare({a.get()}, &spec, "other seed");
  a->Go(round_, Fresh(1));
  EXPECT_EQ(a->AwaitJoined().error(),
            "train.seed cannot change while ranks hold the state of a run: put it back");
  spec.mutable_trainer()->mutable_train()->set_seed(42);
  Prepare({a.get()}, &spec, "put back");
  Go({a.get()}, Fresh(2));
  EXPECT_TRUE(a->AwaitFinished().succeeded());
}

TEST_F(TrainerTest, MoreSkippedStepsThanAllowedEndTheRunOnEveryRankWithTheNumbers) {
  options_.schedule = {.peak = 1e38};  // no weights recover from this
  options_.max_skipped_in_row = 3;
  auto a = Start(), b = Start();
  Prepare({a.get(), b.get()});
  Go({a.get(), b.get()}, Fresh(1));
  for (ThreadTrainer* rank : {a.get(), b.get()}) {
    const v1alpha1::TrainerFinished finished = rank->AwaitFinished();
    EXPECT_FALSE(finished.succeeded());
    EXPECT_EQ(finished.version().step(), 5);
    EXPECT_THAT(finished.message(), StartsWith("4 steps in a row up to step 5 were skipped, the "
                                               "last one with loss "));
    EXPECT_THAT(finished.message(), EndsWith(": train.skippedSteps.maxInRow allows 3"));
    rank->Kill();
    EXPECT_EQ(rank->exit_code(), kExitDiverged);
  }
  EXPECT_EQ(a->outbox().Reports().back().skipped_total(), 4);
}

class KeptCountsTest : public TrainerTest {
 protected:
  // Gives the state of a rank that has ended to one that receives it, and its checkpoint to
  // another. Returns the counts of the first, which both must have.
  RunCounts CountsKeptOf(ThreadTrainer& a) {
    auto b = Start();
    const auto positions = Prepare({&a, b.get()});
    const RunCounts counts = a.state().counts();
    ResumePoint resume = Live(positions[0], 2);
    resume.add_receivers(1);
    Go({&a, b.get()}, resume);
    EXPECT_TRUE(b->AwaitFinished().succeeded());
    b->Kill();
    EXPECT_EQ(b->state().counts(), counts);
    auto c = Start();
    const v1alpha1::CheckpointRef checkpoint = Prepare({c.get()})[0].checkpoints(0);
    Go({c.get()}, FromCheckpoint(checkpoint, 3));
    EXPECT_TRUE(c->AwaitFinished().succeeded());
    c->Kill();
    EXPECT_EQ(c->state().counts(), counts);
    return counts;
  }
};

// A rank that receives the state, and one that loads it, go on with the tunings in force and the
// steps by which others are judged.
TEST_F(KeptCountsTest, TuningsAndWatchedStepsAreKeptInACheckpointAndByARankThatReceives) {
  options_.watch = {.response = SpikeResponse::kSkip};
  settings_.steps = 4;
  settings_.tunings = {{.step = 3, .learning_rate = 1e-5}};
  auto a = Start();
  Prepare({a.get()});
  Go({a.get()}, Fresh(1));
  ASSERT_TRUE(a->AwaitFinished().succeeded());
  const std::vector<v1alpha1::StepReport> reports = a->outbox().Reports();
  ASSERT_EQ(reports.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(reports[i].tunings(), i >= 2 ? 1 : 0);
    EXPECT_EQ(reports[i].tuning().step(), i >= 2 ? 3 : 0);
    EXPECT_TRUE(i < 2 || reports[i].learning_rate() < 1.1e-5) << reports[i].learning_rate();
  }
  const RunCounts kept = CountsKeptOf(*a);
  EXPECT_EQ(kept.tunings, settings_.tunings);
  EXPECT_EQ(kept.watched.losses.size(), 4u);
}

TEST_F(TrainerTest, AnotherJobThatGoesOnFromATunedRunTrainsByItsOwnRate) {
  settings_.steps = 4;
  settings_.tunings = {{.step = 3, .learning_rate = 1e-5}};
  auto a = Start();
  Prepare({a.get()});
  Go({a.get()}, Fresh(1));
  ASSERT_TRUE(a->AwaitFinished().succeeded());
  settings_.steps = 6;
  settings_.tunings.clear();
  auto b = Start();
  const v1alpha1::CheckpointRef checkpoint = Prepare({b.get()})[0].checkpoints(0);
  Go({b.get()}, FromCheckpoint(checkpoint, 2));
  ASSERT_TRUE(b->AwaitFinished().succeeded());
  EXPECT_EQ(b->outbox().Reports().back().tunings(), 0);
  EXPECT_GT(b->outbox().Reports().back().learning_rate(), 1e-4);
}

TEST_F(TrainerTest, ATuningThatComesWhileRanksTrainIsInForceFromOneStepOn) {
  auto a = Start(), b = Start();
  Prepare({a.get(), b.get()});
  for (ThreadTrainer* rank : {a.get(), b.get()}) rank->feed().HoldAt(5);
  Go({a.get(), b.get()}, Fresh(1));
  for (ThreadTrainer* rank : {a.get(), b.get()}) rank->feed().AwaitHeld();
  for (ThreadTrainer* rank : {a.get(), b.get()}) rank->Tune({.learning_rate = 1e-5});
  for (ThreadTrainer* rank : {a.get(), b.get()}) rank->feed().Release();
  ASSERT_TRUE(a->AwaitFinished().succeeded());
  ASSERT_TRUE(b->AwaitFinished().succeeded());
  for (const v1alpha1::StepReport& report : a->outbox().Reports()) {
    EXPECT_EQ(report.tunings(), report.version().step() >= 7 ? 1 : 0) << report.version().step();
  }
  EXPECT_EQ(a->outbox().Reports().back().tuning().step(), 7);
}

// The spike is forced: nothing in the data is far above the rest.
TEST_F(TrainerTest, ASpikeUnderStopEndsTheRunWithACheckpointOfTheWeightsBeforeIt) {
  options_.watch = {.response = SpikeResponse::kStop, .deviations = 1e-9};
  auto a = Start(), b = Start();
  Prepare({a.get(), b.get()});
  Go({a.get(), b.get()}, Fresh(1));
  for (ThreadTrainer* rank : {a.get(), b.get()}) {
    const v1alpha1::TrainerFinished finished = rank->AwaitFinished();
    EXPECT_FALSE(finished.succeeded());
    EXPECT_THAT(finished.message(), StartsWith("step "));
    EXPECT_THAT(finished.message(), EndsWith("; trainer.watch.onSpike is Stop"));
    rank->Kill();
    EXPECT_EQ(rank->exit_code(), kExitDiverged);
  }
  EXPECT_EQ(Prepare({Start().get()})[0].checkpoints(0).version().step(),
            a->state().applied()->step());
  const v1alpha1::StepReport last = a->outbox().Reports().back();
  EXPECT_FALSE(last.applied());
  EXPECT_EQ(last.spikes_total(), 1);
  EXPECT_NE(last.spike(), "");
}

class SkippedStepsTest : public KeptCountsTest,
                         public testing::WithParamInterface<at::ScalarType> {};

// In FP32 the steps count as skipped, in FP16 each halves the loss scale.
TEST_P(SkippedStepsTest, AreKeptInACheckpointAndByARankThatReceives) {
  options_.types.compute = GetParam();
  options_.schedule = {.peak = 1e38};
  settings_.steps = 4;
  auto a = Start();
  Prepare({a.get()});
  Go({a.get()}, Fresh(1));
  ASSERT_TRUE(a->AwaitFinished().succeeded());
  RunCounts want{.updates = 1, .samples = 4 * options_.step_samples()};
  if (GetParam() == at::kHalf) {
    want.loss_scale = {.scale = kFirstLossScale / 8, .good_steps = 0};
  } else {
    want.skipped = {.in_row = 3, .total = 3};
  }
  EXPECT_EQ(CountsKeptOf(*a), want);
}

INSTANTIATE_TEST_SUITE_P(Types, SkippedStepsTest, testing::Values(at::kFloat, at::kHalf),
                         [](const auto& info) { return c10::toString(info.param); });

// The last step is saved, and so the checkpoint tells which rank is right.
TEST_F(TrainerTest, RanksWithDifferentWeightsDoNotGoOn) {
  settings_.steps = 3;
  auto a = Start(), b = Start();
  Prepare({a.get(), b.get()});
  Go({a.get(), b.get()}, Fresh(1));
  EXPECT_TRUE(a->AwaitFinished().succeeded());
  EXPECT_TRUE(b->AwaitFinished().succeeded());
  b->state().units()[1].values()[0].add_(1.0);
  const auto positions = Prepare({a.get(), b.get()});
  a->Go(round_, Live(positions[0], 2));
  b->Go(round_, Live(positions[0], 2));
  const std::string want =
      "rank 1 and rank 0 differ at step 3 (attempt 1) in the values of unit " +
      a->state().units()[1].layout().name +
      "; the latter have what the checkpoint has: the former give up their state and receive it "
      "anew";
  EXPECT_EQ(a->AwaitJoined().error(), want);
  EXPECT_EQ(b->AwaitJoined().error(), want);
  // The rank that differs asks for the state in the next round.
  const auto after = Prepare({a.get(), b.get()});
  EXPECT_TRUE(after[0].has_applied());
  EXPECT_FALSE(after[1].has_applied());
}

TEST_F(TrainerTest, ANewerPrepareSupersedesAndAnOlderOneIsIgnored) {
  auto a = Start();
  Prepare({a.get()});
  round_ = 7;
  Prepare({a.get()});
  a->Prepare(3, 0, 1);
  a->Go(3, Fresh(1));
  Go({a.get()}, Fresh(1));
  EXPECT_TRUE(a->AwaitFinished().succeeded());
}

TEST_F(TrainerTest, ADiskThatFailsInTwoRoundsInARowEndsTheRank) {
  options_.offload = {.optimizer = true, .directory = "/scratch"};
  const std::unique_ptr<ThreadTrainer> alone = Start();
  Prepare({alone.get()});
  alone->feed().HoldAt(3);
  Go({alone.get()}, Fresh(1));
  alone->feed().AwaitHeld();
  alone->scratch().FailAfter(0);
  alone->feed().Release();
  const v1alpha1::FromTrainer stalled = alone->outbox().Await(v1alpha1::FromTrainer::kStalled);
  EXPECT_NE(stalled.stalled().error(), "");
  EXPECT_EQ(stalled.stalled().version().step(), 2);
  const v1alpha1::RankPosition position = Prepare({alone.get()})[0];
  alone->Go(round_, Live(position, 2));
  const v1alpha1::TrainerFinished finished = alone->AwaitFinished();
  EXPECT_FALSE(finished.succeeded());
  alone->AwaitEnd();
  EXPECT_EQ(alone->exit_code(), 1);
}

}  // namespace
}  // namespace muster::trainer
