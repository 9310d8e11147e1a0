// Tests that ranks go on from replicas of the copies of ranks that are lost, and wait with the next
// copy until the one before is whole elsewhere.

#include <string>
#include <vector>

#include "ATen/ops/empty.h"
#include "absl/status/status.h"
#include "base/testing/memory_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/data_type.h"
#include "trainer/checkpoint/reader.h"
#include "trainer/engine/store/kept_replicas.h"
#include "trainer/engine/testing/copies_fixture.h"
#include "trainer/engine/testing/thread_rounds.h"

namespace muster::trainer {
namespace {

using ::testing::HasSubstr;
using v1alpha1::RankPosition;
using v1alpha1::ResumePoint;
using v1alpha1::StateCopy;

using TrainerReplicasTest = TrainerCopiesTest;

TEST_F(TrainerReplicasTest, SurvivorsGoOnFromTheReplicaOfALostRankToTheSameBits) {
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

TEST_F(TrainerReplicasTest, TheLastSurvivorGoesOnFromTheReplicasOfTheOthers) {
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
  EXPECT_EQ(joined.restored_bytes(), BytesHeld(**a)) << "a third from its own copy";
  ExpectUndisturbedWeights({&**a});
}

TEST_F(TrainerReplicasTest, AReplicaWhoseBytesHaveChangedIsRefusedAndNotOfferedAgain) {
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

TEST_F(TrainerReplicasTest, ACopyOfItsOwnThatCannotBeReadNowAsAReplicaStays) {
  TrainAndKill(2, 2, 18);
  KeptReplicas kept(memory_, "uid", "/shm/rank-0");
  v1alpha1::Version version;
  version.set_step(15);
  version.set_attempt(1);
  auto slice = kept.Open(version, {.shard = {0, 2}});
  ASSERT_TRUE(slice.ok()) << slice.status();
  const auto reader = CheckpointReader::Open(memory_, "/shm/rank-0/step-000000015");
  ASSERT_TRUE(reader.ok()) << reader.status();
  const TensorRecord& tensor = (*reader)->manifest().tensors.at(0);
  memory_.SetOpenFault([](const std::string&) { return absl::UnavailableError("not now"); });
  const at::Tensor into = at::empty({1}, tensor.type == DataType::kF64 ? at::kDouble : at::kFloat);
  const absl::Status read = (*slice)->Read(tensor.name, tensor.shape.at(0), 0, into);
  EXPECT_THAT(std::string(read.message()), HasSubstr("not now"));
  memory_.SetOpenFault(nullptr);
  EXPECT_TRUE(Exists(memory_, "/shm/rank-0/step-000000015/DONE"));
}

TEST_F(TrainerReplicasTest, ARankReadsReplicasAndItsOwnCopiesAndOffersTheFormer) {
  TrainAndKill(3, 3, 12);
  KeptReplicas kept(memory_, "uid", "/shm/rank-0");
  kept.SetFolders({"/shm/rank-1"});
  v1alpha1::Version version;
  version.set_step(10);
  version.set_attempt(1);
  EXPECT_TRUE(kept.Open(version, {.shard = {0, 3}}).ok());
  EXPECT_TRUE(kept.Open(version, {.shard = {1, 3}}).ok());
  EXPECT_EQ(kept.Open(version, {.shard = {2, 3}}).status().message(),
            "no replica of shard 2 of 3 of step 10 (attempt 1) is kept on this worker");
  RankPosition position;
  kept.AddTo(position);
  ASSERT_EQ(position.replicas_size(), 2);
  EXPECT_EQ(position.replicas(0).slice().shard(), 1);
  KeptReplicas of_chunks(memory_, "uid", "/shm/rank-0", "2 in turn");
  of_chunks.SetFolders({"/shm/rank-1"});
  EXPECT_TRUE(absl::IsNotFound(of_chunks.Open(version, {.shard = {0, 3}}).status()))
      << "a stage with two runs of blocks has other blocks";
  RankPosition of_other_stages;
  of_chunks.AddTo(of_other_stages);
  EXPECT_EQ(of_other_stages.replicas_size(), 0);
}

// With the copies of ranks that are gone, a slice of the layout of before would cover nothing.
TEST_F(TrainerReplicasTest, RanksThatChangeTheLayoutCopyTheirNewSlicesAtOnce) {
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

TEST_F(TrainerReplicasTest, ACopyWaitsUntilTheOneBeforeIsWholeElsewhereOnEveryRank) {
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
  // Both ranks ask for a copy in the vote on step 16, after rank 1 has heard that its copy of step
  // 5 is whole. Neither hears more about the copy of step 16, so none is made after it.
  a = StartWithCopies(0);
  b = StartWithCopies(1);
  for (const RankPosition& position : Prepare({&**a, &**b})) {
    ASSERT_EQ(position.copies_size(), 2);
    EXPECT_EQ(position.copies(0).version().step(), 16);
    EXPECT_EQ(position.copies(1).version().step(), 5);
  }
}

TEST_F(TrainerReplicasTest, RanksCopyWithoutReplicasWhereNobodyTakesThem) {
  settings_.keeps_replicas = true;
  TrainAndKill(1, 1, 18);
  const auto rank = StartWithCopies(0);
  const RankPosition position = Prepare({&**rank})[0];
  ASSERT_GE(position.copies_size(), 1);
  EXPECT_GE(position.copies(0).version().step(), 10);
}

}  // namespace
}  // namespace muster::trainer
