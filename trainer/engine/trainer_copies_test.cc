// Tests that ranks go on from the copies of their state that outlive their processes.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/memory_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/engine/copy_pace.h"
#include "trainer/engine/kept_replicas.h"
#include "trainer/engine/state_copies.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/engine/testing/trainer_fixture.h"

namespace muster::trainer {
namespace {

using ::testing::HasSubstr;
using v1alpha1::FromTrainer;
using v1alpha1::RankPosition;
using v1alpha1::ResumePoint;
using v1alpha1::StateCopy;

constexpr int kEvery = 5;

// A rank's process and the memory that its agent keeps for it.
class RankWithCopies {
 public:
  RankWithCopies(const TrainingOptions& options, const TrainerSettings& settings,
                 ThreadNetwork::Rounds& rounds, MemoryCheckpoints::Disk& disk, Files& memory,
                 const std::string& folder)
      : copies_(memory, Clock::Real(), folder, {.name = "default/job", .uid = "uid"}),
        replicas_(memory, "uid", folder),
        trainer_(options, settings, rounds, disk, nullptr, &copies_, &replicas_) {}
  ThreadTrainer& operator*() { return trainer_; }
  ThreadTrainer* operator->() { return &trainer_; }

 private:
  StateCopies copies_;
  KeptReplicas replicas_;
  ThreadTrainer trainer_;
};

template <typename Copies>
const StateCopy* FindStep(const Copies& copies, int64_t step) {
  const auto found = std::find_if(copies.begin(), copies.end(),
                                  [&](const auto& copy) { return copy.version().step() == step; });
  return found == copies.end() ? nullptr : &*found;
}

const StateCopy* FindCopy(const RankPosition& position, int64_t step) {
  return FindStep(position.copies(), step);
}

// Goes on from the copies of `step`, which some rank has.
ResumePoint FromCopies(const std::vector<RankPosition>& positions, int64_t step, int64_t attempt) {
  ResumePoint resume;
  resume.set_source(ResumePoint::MEMORY);
  resume.set_next_attempt(attempt);
  resume.set_history(kHistory);
  resume.set_donor(-1);
  for (int r = 0; r < static_cast<int>(positions.size()); ++r) {
    const StateCopy* copy = FindCopy(positions[static_cast<size_t>(r)], step);
    *resume.add_slices() = copy == nullptr ? v1alpha1::StateSlice() : copy->slice();
    if (copy == nullptr) {
      resume.add_receivers(r);
      continue;
    }
    *resume.mutable_version() = copy->version();
    if (resume.donor() < 0) resume.set_donor(r);
  }
  for (int r = 0; r < static_cast<int>(positions.size()); ++r) {
    const StateCopy* replica = FindStep(positions[static_cast<size_t>(r)].replicas(), step);
    if (replica == nullptr) continue;
    v1alpha1::ReplicaSource& source = *resume.add_replicas();
    source.set_rank(r);
    *source.mutable_slice() = replica->slice();
  }
  return resume;
}

class TrainerCopiesTest : public TrainerTest {
 protected:
  TrainerCopiesTest() {
    settings_.copies = true;
    settings_.copy_every_steps = kEvery;
    settings_.copies_room = int64_t{1} << 30;
  }
  std::unique_ptr<RankWithCopies> StartWithCopies(int rank) {
    return std::make_unique<RankWithCopies>(options_, settings_, rounds_, disk_, memory_,
                                            absl::StrCat("/shm/rank-", rank));
  }
  // Trains ranks that divide the state until all compute `step`, and kills them all.
  void TrainAndKill(int ranks, int shard, int64_t step) {
    std::vector<std::unique_ptr<RankWithCopies>> rank;
    std::vector<ThreadTrainer*> all;
    for (int r = 0; r < ranks; ++r) {
      rank.push_back(StartWithCopies(r));
      all.push_back(&**rank.back());
    }
    Prepare(all);
    for (ThreadTrainer* trainer : all) trainer->feed().HoldAt(step);
    Go(all, Fresh(1), shard);
    for (ThreadTrainer* trainer : all) trainer->feed().AwaitHeld();
    for (ThreadTrainer* trainer : all) trainer->Kill();
  }

  // Prepares a round of ranks the last of which keeps the replicas of lost ranks in these folders.
  std::vector<RankPosition> PrepareWithReplicas(const std::vector<ThreadTrainer*>& ranks,
                                                const std::vector<std::string>& folders) {
    ++round_;
    const int world = static_cast<int>(ranks.size());
    for (int r = 0; r < world; ++r) {
      ranks[static_cast<size_t>(r)]->Prepare(round_, r, world, nullptr, "",
                                             r == world - 1 ? folders : std::vector<std::string>());
    }
    return AwaitReady(ranks);
  }

  MemoryFiles memory_;
};

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
  int64_t held = 0;
  for (const NamedTensor& flat : (*rank)->state().FlatTensors()) {
    held += static_cast<int64_t>(flat.tensor.nbytes());
  }
  EXPECT_EQ(joined.restored_bytes(), held);
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

TEST_F(TrainerCopiesTest, SurvivorsGoOnFromTheReplicaOfALostRankToTheSameBits) {
  TrainAndKill(3, 3, 12);
  const auto a = StartWithCopies(0), b = StartWithCopies(2);
  const std::vector<ThreadTrainer*> ranks = {&**a, &**b};
  const auto positions = PrepareWithReplicas(ranks, {"/shm/rank-1"});
  EXPECT_EQ(positions[0].replicas_size(), 0);
  ASSERT_EQ(positions[1].replicas_size(), 2);
  EXPECT_EQ(positions[1].replicas(0).version().step(), 10);
  EXPECT_EQ(positions[1].replicas(0).slice().shard(), 1);
  EXPECT_EQ(positions[1].replicas(0).slice().shards(), 3);
  EXPECT_GT(positions[1].replicas(0).bytes(), 0);
  Go(ranks, FromCopies(positions, 10, 2), 2);
  ExpectUndisturbedWeights(ranks);
}

TEST_F(TrainerCopiesTest, TheLastSurvivorGoesOnFromTheReplicasOfTheOthers) {
  TrainAndKill(3, 3, 12);
  const auto a = StartWithCopies(1);
  const auto positions = PrepareWithReplicas({&**a}, {"/shm/rank-0", "/shm/rank-2"});
  ResumePoint resume = FromCopies(positions, 10, 2);
  v1alpha1::ReplicaSource& other = *resume.add_replicas();
  other.mutable_slice()->set_shard(2);
  other.mutable_slice()->set_shards(3);
  (*a)->Go(round_, resume);
  const v1alpha1::WorkerJoined joined = (*a)->AwaitJoined();
  EXPECT_EQ(joined.error(), "");
  int64_t held = 0;
  for (const NamedTensor& flat : (*a)->state().FlatTensors()) {
    held += static_cast<int64_t>(flat.tensor.nbytes());
  }
  EXPECT_EQ(joined.restored_bytes(), held) << "a third from its own copy";
  ExpectUndisturbedWeights({&**a});
}

TEST_F(TrainerCopiesTest, AReplicaWhoseBytesHaveChangedIsRefusedAndNotOfferedAgain) {
  TrainAndKill(2, 2, 18);
  const std::string path = "/shm/rank-1/step-000000015/optimizer-00001-of-00001.safetensors";
  std::string bytes = *ReadFile(memory_, path);
  bytes.back() ^= 1;
  ASSERT_TRUE(memory_.Overwrite(path, bytes).ok());
  const auto rank = StartWithCopies(0);
  const auto positions = PrepareWithReplicas({&**rank}, {"/shm/rank-1"});
  (*rank)->Go(round_, FromCopies(positions, 15, 2));
  EXPECT_THAT((*rank)->AwaitJoined().error(), HasSubstr("are not those that were written"));
  const auto again = PrepareWithReplicas({&**rank}, {"/shm/rank-1"});
  ASSERT_EQ(again[0].replicas_size(), 1);
  EXPECT_EQ(again[0].replicas(0).version().step(), 10);
  EXPECT_TRUE(Exists(memory_, "/shm/rank-1/step-000000015")) << "the folder is the agent's";
  Go({&**rank}, FromCopies(again, 10, 3));
  ExpectUndisturbedWeights({&**rank});
}

TEST_F(TrainerCopiesTest, ARankReadsReplicasAndItsOwnCopiesAndOffersTheFormer) {
  TrainAndKill(3, 3, 12);
  KeptReplicas kept(memory_, "uid", "/shm/rank-0");
  kept.SetFolders({"/shm/rank-1"});
  v1alpha1::Version version;
  version.set_step(10);
  version.set_attempt(1);
  EXPECT_TRUE(kept.Open(version, {0, 3}).ok());
  EXPECT_TRUE(kept.Open(version, {1, 3}).ok());
  EXPECT_EQ(kept.Open(version, {2, 3}).status().message(),
            "no replica of shard 2 of 3 of step 10 (attempt 1) is kept on this worker");
  RankPosition position;
  kept.AddTo(position);
  ASSERT_EQ(position.replicas_size(), 2);
  EXPECT_EQ(position.replicas(0).slice().shard(), 1);
}

// With the copies of ranks that are gone, a slice of the layout of before would cover nothing.
TEST_F(TrainerCopiesTest, RanksThatChangeTheLayoutCopyTheirNewSlicesAtOnce) {
  TrainAndKill(3, 3, 12);
  const auto a = StartWithCopies(0), b = StartWithCopies(2);
  const std::vector<ThreadTrainer*> ranks = {&**a, &**b};
  for (ThreadTrainer* rank : ranks) rank->feed().HoldAt(12);
  Go(ranks, FromCopies(PrepareWithReplicas(ranks, {"/shm/rank-1"}), 10, 2), 2);
  for (ThreadTrainer* rank : ranks) rank->feed().AwaitHeld();
  ++round_;
  for (int r = 0; r < 2; ++r) ranks[static_cast<size_t>(r)]->Prepare(round_, r, 2);
  for (ThreadTrainer* rank : ranks) rank->feed().Release();
  for (const RankPosition& position : AwaitReady(ranks)) {
    const StateCopy* copy = FindCopy(position, 10);
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(copy->slice().shards(), 2);
    EXPECT_EQ(position.replicas_size(), 0);
  }
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

// Tells the rank how the replicas of its copies stand; `kept` is the step of the newest that is
// whole at the peer, 0: none.
void TellReplica(ThreadTrainer& rank, int64_t kept) {
  v1alpha1::ToTrainer message;
  message.mutable_replica()->set_streams(true);
  if (kept > 0) {
    v1alpha1::Version& version = *message.mutable_replica()->add_kept();
    version.set_step(kept);
    version.set_attempt(1);
  }
  rank.Send(message);
}

TEST_F(TrainerCopiesTest, ACopyWaitsUntilTheOneBeforeIsWholeElsewhereOnEveryRank) {
  settings_.keeps_replicas = true;
  auto a = StartWithCopies(0), b = StartWithCopies(1);
  const std::vector<ThreadTrainer*> ranks = {&**a, &**b};
  const auto hold_at = [&](int64_t step) {
    for (ThreadTrainer* rank : ranks) rank->feed().HoldAt(step);
    for (ThreadTrainer* rank : ranks) rank->feed().AwaitHeld();
  };
  Prepare(ranks);
  for (ThreadTrainer* rank : ranks) rank->feed().HoldAt(3);
  Go(ranks, Fresh(1), 2);
  for (ThreadTrainer* rank : ranks) rank->feed().AwaitHeld();
  for (ThreadTrainer* rank : ranks) TellReplica(*rank, 0);
  hold_at(13);
  EXPECT_TRUE(Exists(memory_, "/shm/rank-0/step-000000005"));
  TellReplica(*ranks[0], 5);
  hold_at(16);
  EXPECT_FALSE(Exists(memory_, "/shm/rank-0/step-000000010")) << "rank 1's is on its way";
  EXPECT_FALSE(Exists(memory_, "/shm/rank-0/step-000000015"));
  TellReplica(*ranks[1], 5);
  hold_at(24);
  for (ThreadTrainer* rank : ranks) rank->Kill();
  // Step 16 was voted on when rank 1 knew, and nobody knows more of the copy of that step.
  a = StartWithCopies(0);
  b = StartWithCopies(1);
  for (const RankPosition& position : Prepare({&**a, &**b})) {
    ASSERT_EQ(position.copies_size(), 2);
    EXPECT_EQ(position.copies(0).version().step(), 16);
    EXPECT_EQ(position.copies(1).version().step(), 5);
  }
}

TEST_F(TrainerCopiesTest, RanksCopyWithoutReplicasWhereNobodyTakesThem) {
  settings_.keeps_replicas = true;
  TrainAndKill(1, 1, 18);
  const auto rank = StartWithCopies(0);
  const RankPosition position = Prepare({&**rank})[0];
  ASSERT_GE(position.copies_size(), 1);
  EXPECT_GE(position.copies(0).version().step(), 10);
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
