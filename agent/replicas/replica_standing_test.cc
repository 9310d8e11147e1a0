#include "agent/replicas/replica_standing.h"

#include "gtest/gtest.h"

namespace muster::agent {
namespace {

v1alpha1::Version V(int64_t step) {
  v1alpha1::Version version;
  version.set_step(step);
  version.set_attempt(2);
  return version;
}

TEST(ReplicaStandingTest, NothingIsStreamedWithoutAPeer) {
  ReplicaStanding standing;
  EXPECT_FALSE(standing.Report(0).streams());
  standing.BeginPeer(true);
  EXPECT_TRUE(standing.Report(0).streams());
  EXPECT_EQ(standing.Report(0).kept_size(), 0);
}

TEST(ReplicaStandingTest, EachRankIsToldOfItsOwnCopyAndTheTimeOfAll) {
  ReplicaStanding standing;
  standing.BeginPeer(true);
  standing.Kept(0, V(10), absl::Seconds(2));
  standing.Kept(1, V(5), absl::Seconds(3));
  standing.Kept(1, V(10), absl::Seconds(1));
  ASSERT_EQ(standing.Report(1).kept_size(), 2);
  EXPECT_EQ(standing.Report(1).kept(0).step(), 10);
  EXPECT_EQ(standing.Report(1).kept(0).attempt(), 2);
  EXPECT_EQ(standing.Report(1).kept(1).step(), 5);
  EXPECT_EQ(standing.Report(0).seconds(), 3.0);
  EXPECT_EQ(standing.Report(2).kept_size(), 0);
}

TEST(ReplicaStandingTest, TwoCopiesOfARankAreWholeAtThePeerAndOneOfAStep) {
  ReplicaStanding standing;
  standing.BeginPeer(true);
  for (const int64_t step : {10, 20, 30}) standing.Kept(0, V(step), absl::Seconds(1));
  EXPECT_FALSE(standing.Has(0, V(10)));
  EXPECT_TRUE(standing.Has(0, V(20)));
  v1alpha1::Version again = V(20);
  again.set_attempt(7);
  standing.Kept(0, again, absl::Seconds(1));
  EXPECT_FALSE(standing.Has(0, V(20)));
  EXPECT_TRUE(standing.Has(0, again));
  EXPECT_TRUE(standing.Has(0, V(30)));
  EXPECT_FALSE(standing.Has(1, V(30)));
}

TEST(ReplicaStandingTest, APeerThatTakesNoCopiesIsNotWaitedForUntilItTakesOne) {
  ReplicaStanding standing;
  standing.BeginPeer(true);
  EXPECT_TRUE(standing.Failed());
  EXPECT_FALSE(standing.Failed()) << "the ranks know";
  EXPECT_FALSE(standing.Report(0).streams());
  standing.Kept(0, V(10), absl::Seconds(1));
  EXPECT_TRUE(standing.Report(1).streams());
}

TEST(ReplicaStandingTest, AnotherPeerHasNothingYet) {
  ReplicaStanding standing;
  standing.BeginPeer(true);
  standing.Kept(0, V(10), absl::Seconds(1));
  standing.BeginPeer(true);
  EXPECT_TRUE(standing.Report(0).streams());
  EXPECT_EQ(standing.Report(0).kept_size(), 0);
  EXPECT_EQ(standing.Report(0).seconds(), 0.0);
}

}  // namespace
}  // namespace muster::agent
