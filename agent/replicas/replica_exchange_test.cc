#include "agent/replicas/replica_exchange.h"

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/replicas/copy_fixture.h"
#include "agent/replicas/exchange_fixture.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ReplicaExchangeTest, ALostWorkersSuccessorGetsItsCopiesFromItsKeeper) {
  auto owner = std::make_unique<Agent>(1, 1);
  Agent keeper(2, 1);
  const v1alpha1::ReplicaPeer peer = keeper.Serve(2);
  owner->Serve(1);
  WriteCopy(FileSystem(), owner->Rank(), 10, "ten");
  owner->exchange->SetPeer(peer);
  EXPECT_THAT(keeper.Await<ReplicasChanged>().kept.workers(), ElementsAre(1));
  owner.reset();
  Agent successor(1, 2);
  successor.Serve(1);
  successor.exchange->Fetch(1, {peer}, kPatience);
  successor.Await<ReplicasFetched>();
  ASSERT_THAT(Names(successor.Rank()), ElementsAre("step-000000010"));
  EXPECT_EQ(StateIn(FileSystem(), successor.Rank() + "/step-000000010"), "ten");
}

TEST(ReplicaExchangeTest, EachCopyThatIsCompletedIsStreamed) {
  StreamingPair pair;
  auto& [owner, keeper, peer] = pair;
  for (const int64_t step : {10, 20, 30}) {
    WriteCopy(FileSystem(), owner.Rank(), step, absl::StrCat("step ", step));
    const std::string replica =
        absl::StrCat(keeper.folder, "/replicas-1/rank-0/", CheckpointName(step));
    const absl::Time deadline = Clock::Real().Monotonic() + kPatience;
    while (!Exists(FileSystem(), replica) && Clock::Real().Monotonic() < deadline) {
      poll(nullptr, 0, 1);
    }
    ASSERT_EQ(StateIn(FileSystem(), replica), absl::StrCat("step ", step));
  }
}

TEST(ReplicaExchangeTest, ARankIsToldWhenItsCopyIsWholeAtThePeerAndAgainOnRequest) {
  StreamingPair pair;
  auto& [owner, keeper, peer] = pair;
  EXPECT_TRUE(owner.Await<ReplicaReported>().report.streams());
  const std::string copy = WriteCopy(FileSystem(), owner.Rank(), 10, std::string(1 << 20, 'a'));
  const v1alpha1::ReplicaReport report = owner.Await<ReplicaReported>().report;
  ASSERT_EQ(report.kept_size(), 1);
  EXPECT_EQ(report.kept(0).step(), 10);
  EXPECT_EQ(report.kept(0).attempt(), 1);
  EXPECT_GT(report.seconds(), 0.0);
  EXPECT_TRUE(Exists(FileSystem(), keeper.folder + "/replicas-1/rank-0/" + BaseName(copy)));
  owner.exchange->SetPeer(peer);
  EXPECT_EQ(owner.Await<ReplicaReported>().report.kept_size(), 1);
  owner.exchange->SetPeer(std::nullopt);
  EXPECT_FALSE(owner.Await<ReplicaReported>().report.streams());
}

// As when the ranks have gone back to a copy that the peer has dropped since.
TEST(ReplicaExchangeTest, TheNewestCopyThatThePeerHasNotIsSentWhenItIsNamedAgain) {
  StreamingPair pair;
  auto& [owner, keeper, peer] = pair;
  for (const int64_t step : {10, 20, 30}) {
    WriteCopy(FileSystem(), owner.Rank(), step, "state");
    while (true) {
      const v1alpha1::ReplicaReport report = owner.Await<ReplicaReported>().report;
      if (HasFailure() || (report.kept_size() > 0 && report.kept(0).step() == step)) break;
    }
  }
  for (const int64_t step : {20, 30}) {
    ASSERT_TRUE(RemoveAll(FileSystem(), JoinPath(owner.Rank(), CheckpointName(step))).ok());
  }
  owner.exchange->SetPeer(peer);
  v1alpha1::ReplicaReport report;
  while (!HasFailure() && (report.kept_size() == 0 || report.kept(0).step() != 10)) {
    report = owner.Await<ReplicaReported>().report;
  }
  EXPECT_EQ(report.kept(0).step(), 10);
}

// A peer that has no room for a copy will never have it: the rank is not to wait for it.
TEST(ReplicaExchangeTest, ARankIsToldThatItsPeerTakesNoCopies) {
  StreamingPair pair;
  auto& [owner, keeper, peer] = pair;
  EXPECT_TRUE(owner.Await<ReplicaReported>().report.streams());
  ASSERT_TRUE(keeper.exchange->Serve(10).ok());
  WriteCopy(FileSystem(), owner.Rank(), 10, "too large for ten bytes");
  EXPECT_FALSE(owner.Await<ReplicaReported>().report.streams());
}

TEST(ReplicaExchangeTest, APeerThatIsGoneDelaysNobody) {
  Agent owner(1, 1);
  v1alpha1::ReplicaPeer peer;
  {
    Agent keeper(2, 1);
    peer = keeper.Serve(2);
  }
  owner.Serve(1);
  WriteCopy(FileSystem(), owner.Rank(), 10, "ten");
  owner.exchange->SetPeer(peer);
  // Another peer gets what the first one did not.
  Agent other(3, 1);
  owner.exchange->SetPeer(other.Serve(3));
  const auto changed = other.Await<ReplicasChanged>();
  EXPECT_THAT(changed.kept.workers(), ElementsAre(1));
  EXPECT_THAT(changed.in_memory, ElementsAre(1));
}

// Waits until the agent has said that it has copies of exactly these workers.
void AwaitCopiesOf(Agent& agent, const std::vector<int>& workers) {
  while (!testing::Test::HasFailure()) {
    const auto kept = agent.Await<ReplicasChanged>().kept;
    if (std::vector<int>(kept.workers().begin(), kept.workers().end()) == workers) return;
  }
}

// A worker whose memory is lost, with its two copies on disk.
class DiskExchangeTest : public testing::Test {
 protected:
  void SetUp() override {
    Agent owner(1, 1);
    ASSERT_TRUE(owner.exchange->Serve(0, disk_).ok());
    AwaitCopiesOf(owner, {});
    WriteCopy(FileSystem(), owner.Rank(), 5, "too early");
    owner.exchange->KeepOnDisk(10);
    WriteCopy(FileSystem(), owner.Rank(), 10, "ten");
    AwaitCopiesOf(owner, {1});
    owner.exchange->KeepOnDisk(11);
    WriteCopy(FileSystem(), owner.Rank(), 20, "twenty");
    const std::string newest = disk_ + "/muster-copies-job-uid/worker-1/rank-0/step-000000020";
    const absl::Time deadline = Clock::Real().Monotonic() + kPatience;
    while (!Exists(FileSystem(), newest) && Clock::Real().Monotonic() < deadline) {
      poll(nullptr, 0, 1);
    }
  }

  const std::string disk_ =
      testing::TempDir() + "/disk-" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(DiskExchangeTest, TheNextAgentOnTheNodeTakesThemIntoMemory) {
  Agent successor(1, 2);
  ASSERT_TRUE(successor.exchange->Serve(0, disk_).ok());
  AwaitCopiesOf(successor, {1});
  successor.exchange->Fetch(1, {}, kPatience);
  successor.Await<ReplicasFetched>();
  ASSERT_THAT(Names(successor.Rank()), ElementsAre("step-000000010", "step-000000020"));
  EXPECT_EQ(StateIn(FileSystem(), successor.Rank() + "/step-000000020"), "twenty");
}

TEST_F(DiskExchangeTest, AnotherWorkersAgentOnTheNodeOffersThemOverTheNetwork) {
  Agent neighbour(2, 1);
  ASSERT_TRUE(neighbour.exchange->Serve(0, disk_).ok());
  v1alpha1::ReplicaPeer peer;
  peer.set_worker(2);
  const auto changed = neighbour.Await<ReplicasChanged>();
  const auto& kept = changed.kept;
  EXPECT_THAT(kept.workers(), ElementsAre(1));
  EXPECT_THAT(changed.in_memory, IsEmpty());
  peer.set_endpoint(kept.endpoint());
  Agent elsewhere(1, 2);
  ASSERT_TRUE(elsewhere.exchange->Serve(0, disk_ + "-of-another-node").ok());
  AwaitCopiesOf(elsewhere, {});
  elsewhere.exchange->Fetch(1, {peer}, kPatience);
  elsewhere.Await<ReplicasFetched>();
  EXPECT_EQ(StateIn(FileSystem(), elsewhere.Rank() + "/step-000000020"), "twenty");
}

// Its own disk has copies of an earlier time, when it was on this node; a replica is newer.
TEST_F(DiskExchangeTest, NewerCopiesOfOthersTakeThePlaceOfThoseOnTheDisk) {
  Agent keeper(2, 1);
  const v1alpha1::ReplicaPeer peer = keeper.Serve(2);
  {
    Agent owner(1, 2);
    owner.Serve(1);
    owner.exchange->SetPeer(peer);
    WriteCopy(FileSystem(), owner.Rank(), 30, "thirty");
    AwaitCopiesOf(keeper, {1});
  }
  Agent successor(1, 3);
  ASSERT_TRUE(successor.exchange->Serve(0, disk_).ok());
  successor.exchange->Fetch(1, {peer}, kPatience);
  successor.Await<ReplicasFetched>();
  EXPECT_THAT(Names(successor.Rank()), ElementsAre("step-000000020", "step-000000030"));
}

TEST_F(DiskExchangeTest, AJobThatHasEndedLeavesNothingThere) {
  {
    Agent last(2, 1);
    ASSERT_TRUE(last.exchange->Serve(0, disk_).ok());
    AwaitCopiesOf(last, {1});
    last.exchange->RemoveFromDiskAtEnd();
  }
  EXPECT_THAT(Names(disk_), IsEmpty());
}

// With a short checkpoint.memory.disk.every the next order comes before the copy of the last.
TEST_F(DiskExchangeTest, OrdersThatComeFasterThanCopiesDoNotPutThemOff) {
  Agent owner(3, 1);
  ASSERT_TRUE(owner.exchange->Serve(0, disk_).ok());
  AwaitCopiesOf(owner, {1});
  for (const int64_t step : {20, 40, 60}) owner.exchange->KeepOnDisk(step);
  WriteCopy(FileSystem(), owner.Rank(), 30, "thirty");
  AwaitCopiesOf(owner, {1, 3});
  EXPECT_TRUE(
      Exists(FileSystem(), disk_ + "/muster-copies-job-uid/worker-3/rank-0/step-000000030"));
}

TEST(ReplicaExchangeTest, ADiskThatCannotBeUsedIsNoReasonToStop) {
  Agent agent(1, 1);
  ASSERT_TRUE(agent.exchange->Serve(0, "/proc/no-disk").ok());
  EXPECT_THAT(agent.Await<ReplicasChanged>().kept.workers(), IsEmpty());
  agent.exchange->KeepOnDisk(1);
  WriteCopy(FileSystem(), agent.Rank(), 10, "ten");
  agent.exchange->Fetch(1, {}, kPatience);
  agent.Await<ReplicasFetched>();
}

TEST(ReplicaExchangeTest, AFetchThatFindsNothingEnds) {
  Agent keeper(2, 1);
  const v1alpha1::ReplicaPeer empty = keeper.Serve(2);
  v1alpha1::ReplicaPeer gone = empty;
  gone.set_endpoint("unix:/nowhere/replicas.sock");
  Agent successor(1, 2);
  successor.Serve(1);
  successor.exchange->Fetch(1, {gone, empty}, kPatience);
  successor.Await<ReplicasFetched>();
  EXPECT_THAT(Names(successor.Rank()), IsEmpty());
}

}  // namespace
}  // namespace muster::agent
