// Tests that ranks go on from the copies of their state that outlive their processes.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/testing/memory_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/engine/store/copy_choice.h"
#include "trainer/engine/testing/copies_fixture.h"
#include "trainer/engine/testing/thread_rounds.h"

namespace muster::trainer {
namespace {

using ::testing::HasSubstr;
using v1alpha1::RankPosition;
using v1alpha1::StateCopy;

TEST_F(TrainerCopiesTest, TwoCopiesOutliveTheProcess) {
  TrainAndKill(1, 1, 18);
  const auto rank = StartWithCopies(0);
  const RankPosition position = Prepare({&**rank})[0];
  ASSERT_EQ(position.copies_size(), 2);
  const StateCopy& newest = position.copies(0);
  EXPECT_EQ(newest.version().step(), 15);
  EXPECT_EQ(newest.version().attempt(), 1);
  EXPECT_EQ(newest.history(), kHistory);
  EXPECT_EQ(newest.slice().shards(), 1);
  EXPECT_GT(newest.bytes(), 0);
  EXPECT_EQ(position.copies(1).version().step(), 10);
  EXPECT_FALSE(position.has_applied());
}

TEST_F(TrainerCopiesTest, ARankThatIsStartedAgainGoesOnFromItsCopyToTheSameBits) {
  TrainAndKill(1, 1, 18);
  const auto rank = StartWithCopies(0);
  const auto positions = Prepare({&**rank});
  (*rank)->Go(round_, FromCopies(positions, 15, 2));
  const v1alpha1::WorkerJoined joined = (*rank)->AwaitJoined();
  EXPECT_EQ(joined.error(), "");
  EXPECT_EQ(joined.version().step(), 15);
  EXPECT_EQ(joined.restored_bytes(), BytesHeld(**rank));
  ExpectUndisturbedWeights({&**rank});
}

TEST_F(TrainerCopiesTest, EveryRankLoadsItsOwnSlice) {
  TrainAndKill(3, 3, 12);
  const auto a = StartWithCopies(0), b = StartWithCopies(1), c = StartWithCopies(2);
  const std::vector<ThreadTrainer*> ranks = {&**a, &**b, &**c};
  const auto positions = Prepare(ranks);
  EXPECT_EQ(positions[2].copies(0).slice().shard(), 2);
  EXPECT_EQ(positions[2].copies(0).slice().shards(), 3);
  Go(ranks, FromCopies(positions, 10, 2), 3);
  ExpectUndisturbedWeights(ranks);
}

// Rank 2 of the new round has nothing, and the new layout divides the state otherwise.
TEST_F(TrainerCopiesTest, SlicesOfAnotherLayoutAreMovedToTheRanksThatNeedThem) {
  TrainAndKill(2, 2, 12);
  const auto a = StartWithCopies(1), b = StartWithCopies(0), c = StartWithCopies(7);
  const std::vector<ThreadTrainer*> ranks = {&**a, &**b, &**c};
  Go(ranks, FromCopies(Prepare(ranks), 10, 2), 3);
  ExpectUndisturbedWeights(ranks);
}

// The steps that are copied depend on measured times, but they are the same on every rank.
TEST_F(TrainerCopiesTest, RanksThatChooseTheIntervalCopyTheSameSteps) {
  settings_.copy_every_steps = 0;
  TrainAndKill(2, 2, 30);
  const auto a = StartWithCopies(0), b = StartWithCopies(1);
  const std::vector<ThreadTrainer*> ranks = {&**a, &**b};
  const auto positions = Prepare(ranks);
  ASSERT_GE(positions[0].copies_size(), 1);
  ASSERT_EQ(positions[0].copies_size(), positions[1].copies_size());
  const int64_t step = positions[0].copies(0).version().step();
  EXPECT_GT(step, CopyPace::kMeasuredFirst);
  EXPECT_EQ(positions[1].copies(0).version().step(), step);
  Go(ranks, FromCopies(positions, step, 2), 2);
  ExpectUndisturbedWeights(ranks);
}

// Another failure must not find the only copy where it was before.
TEST_F(TrainerCopiesTest, ARankThatReceivesTheStateCopiesItAtOnce) {
  TrainAndKill(1, 1, 12);
  const auto a = StartWithCopies(0), b = StartWithCopies(7);
  const std::vector<ThreadTrainer*> ranks = {&**a, &**b};
  const auto before = Prepare(ranks);
  EXPECT_EQ(before[1].copies_size(), 0);
  for (ThreadTrainer* rank : ranks) rank->feed().HoldAt(12);
  Go(ranks, FromCopies(before, 10, 2));
  for (ThreadTrainer* rank : ranks) rank->feed().AwaitHeld();
  ++round_;
  for (int r = 0; r < 2; ++r) ranks[static_cast<size_t>(r)]->Prepare(round_, r, 2);
  for (ThreadTrainer* rank : ranks) rank->feed().Release();
  const auto after = AwaitReady(ranks);
  EXPECT_NE(FindCopy(after[1], 10), nullptr);
  EXPECT_EQ(after[0].copies_size(), 2) << "steps 5 and 10: it had them, and made no other";
}

TEST_F(TrainerCopiesTest, ACopyThatWasNotCompletedIsNotThere) {
  TrainAndKill(1, 1, 18);
  ASSERT_TRUE(memory_.Rename("/shm/rank-0/step-000000015", "/shm/rank-0/step-000000015.r1").ok());
  const auto rank = StartWithCopies(0);
  const auto positions = Prepare({&**rank});
  ASSERT_EQ(positions[0].copies_size(), 1);
  Go({&**rank}, FromCopies(positions, 10, 2));
  EXPECT_FALSE(Exists(memory_, "/shm/rank-0/step-000000015.r1")) << "its room is needed";
  ExpectUndisturbedWeights({&**rank});
}

TEST_F(TrainerCopiesTest, ACopyWhoseBytesHaveChangedIsRefusedAndNeverOfferedAgain) {
  TrainAndKill(1, 1, 18);
  const std::string path = "/shm/rank-0/step-000000015/optimizer-00001-of-00001.safetensors";
  std::string bytes = *ReadFile(memory_, path);
  bytes.back() ^= 1;
  ASSERT_TRUE(memory_.Overwrite(path, bytes).ok());
  const auto rank = StartWithCopies(0);
  (*rank)->Prepare(++round_, 0, 1);
  (*rank)->Go(round_, FromCopies({(*rank)->AwaitReady()}, 15, 2));
  EXPECT_THAT((*rank)->AwaitJoined().error(), HasSubstr("are not those that were written"));
  const auto positions = Prepare({&**rank});
  ASSERT_EQ(positions[0].copies_size(), 1);
  Go({&**rank}, FromCopies(positions, 10, 3));
  ExpectUndisturbedWeights({&**rank});
}

TEST_F(TrainerCopiesTest, ACopyThatCannotBeReadNowStaysAndIsOfferedAgain) {
  TrainAndKill(1, 1, 18);
  const auto rank = StartWithCopies(0);
  memory_.SetOpenFault([](const std::string& path) {
    return absl::EndsWith(path, ".safetensors") ? absl::UnavailableError("Too many open files")
                                                : absl::OkStatus();
  });
  (*rank)->Prepare(++round_, 0, 1);
  (*rank)->Go(round_, FromCopies({(*rank)->AwaitReady()}, 15, 2));
  EXPECT_THAT((*rank)->AwaitJoined().error(), HasSubstr("Too many open files"));
  EXPECT_TRUE(Exists(memory_, "/shm/rank-0/step-000000015/DONE")) << "it is a good copy";
  memory_.SetOpenFault(nullptr);
  const auto positions = Prepare({&**rank});
  ASSERT_EQ(positions[0].copies_size(), 2);
  Go({&**rank}, FromCopies(positions, 15, 3));
  ExpectUndisturbedWeights({&**rank});
}

// The job goes on from another copy, or from a checkpoint; the next process tries this one again.
TEST_F(TrainerCopiesTest, ACopyThatCannotBeReadThreeTimesIsPassedOverAndStays) {
  TrainAndKill(1, 1, 18);
  const auto rank = StartWithCopies(0);
  memory_.SetOpenFault([](const std::string& path) {
    const bool fails = absl::StrContains(path, "000015/") && absl::EndsWith(path, ".safetensors");
    return fails ? absl::InternalError("Input/output error") : absl::OkStatus();
  });
  for (int64_t attempt = 2; attempt <= 4; ++attempt) {
    (*rank)->Prepare(++round_, 0, 1);
    const RankPosition position = (*rank)->AwaitReady();
    ASSERT_EQ(position.copies_size(), 2) << attempt;
    (*rank)->Go(round_, FromCopies({position}, 15, attempt));
    EXPECT_THAT((*rank)->AwaitJoined().error(), HasSubstr("Input/output error"));
  }
  const auto positions = Prepare({&**rank});
  ASSERT_EQ(positions[0].copies_size(), 1);
  EXPECT_EQ(positions[0].copies(0).version().step(), 10);
  EXPECT_TRUE(Exists(memory_, "/shm/rank-0/step-000000015/DONE"));
  (*rank)->Kill();
}

// Step 15 was copied by the first attempt, which the job did not go on from.
TEST_F(TrainerCopiesTest, CopiesThatTheRoundDoesNotBuildOnAreRemoved) {
  TrainAndKill(1, 1, 18);
  const auto rank = StartWithCopies(0);
  const auto positions = Prepare({&**rank});
  (*rank)->feed().HoldAt(12);
  Go({&**rank}, FromCopies(positions, 10, 2));
  (*rank)->feed().AwaitHeld();
  EXPECT_FALSE(Exists(memory_, "/shm/rank-0/step-000000015"));
  EXPECT_TRUE(Exists(memory_, "/shm/rank-0/step-000000010"));
  (*rank)->Kill();
}

TEST_F(TrainerCopiesTest, ANewRunWhoseCopiesDoNotFitEndsAsBadInputAndSaysHowMuchTheyNeed) {
  settings_.copies_room = 1000;
  const auto rank = StartWithCopies(0);
  Prepare({&**rank});
  (*rank)->Go(round_, Fresh(1));
  const v1alpha1::TrainerFinished finished = (*rank)->AwaitFinished();
  EXPECT_FALSE(finished.succeeded());
  EXPECT_THAT(finished.message(),
              HasSubstr("checkpoint.memory.size: each rank of a worker has 1000 bytes of it, and "
                        "three copies of its part of the state take "));
  (*rank)->AwaitEnd();
  EXPECT_EQ((*rank)->exit_code(), 2);
}

// Memory that is full takes no step from the job.
TEST_F(TrainerCopiesTest, TrainingGoesOnWithoutCopiesThatCannotBeWritten) {
  memory_.SetCapacity(10);
  const auto rank = StartWithCopies(0);
  Prepare({&**rank});
  Go({&**rank}, Fresh(1));
  ExpectUndisturbedWeights({&**rank});
}

}  // namespace
}  // namespace muster::trainer
