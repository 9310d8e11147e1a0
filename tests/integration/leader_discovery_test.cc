// Tests that agents find the leading replica and its successor: replicas that do not lead name the
// leader.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "agent/worker/stream/coordinator_client.h"
#include "gtest/gtest.h"
#include "tests/integration/freezable_relay.h"
#include "tests/integration/identity_world.h"

namespace muster {
namespace {

using LeaderDiscoveryTest = IdentityTest;

TEST_F(LeaderDiscoveryTest, AgentsFollowTheLeader) {
  Replica second(*api_, clock_, 2);
  second.registry.SetStandby(first_->address());
  first_->Lead();
  // The standby is dialled first and names the leader.
  agent::CoordinatorClient client(ClientOptions({second.address(), first_->address()}), files_);
  ASSERT_TRUE(Welcomed(client));
  EXPECT_EQ(first_->registry.attached(), 1);
  // This is a planned hand-over: the first replica names its successor.
  second.Lead();
  first_->registry.SetStandby(second.address());
  ASSERT_TRUE(Welcomed(client, 2));
  EXPECT_EQ(second.registry.attached(), 1);
  EXPECT_EQ(terms_, (std::vector<int64_t>{1, 2}));
  // The certificate is valid at every replica.
  EXPECT_EQ(client.certificates(), 1);
}

// Without a leader, thousands of agents redial every standby again and again.
TEST_F(LeaderDiscoveryTest, AStandbyIsAskedAgainOverTheSameConnection) {
  first_->registry.SetStandby("127.0.0.1:1");  // a leader that is gone
  agent::CoordinatorClient client(ClientOptions({first_->address()}), files_);
  ASSERT_TRUE(RunUntil(client, [&] { return not_leaders_ >= 4; }));
  first_->Lead();
  ASSERT_TRUE(Welcomed(client));
  // Counts one connection for Identify, one with the certificate, and those to the vanished leader.
  EXPECT_LE(client.connections() - not_leaders_, 2);
  EXPECT_GE(not_leaders_, 4);
}

TEST_F(LeaderDiscoveryTest, AConnectionToAStandbyThatBreaksIsMadeAnew) {
  auto second = std::make_unique<Replica>(*api_, clock_, 2);
  const std::string address = second->address();
  second->registry.SetStandby("");
  agent::CoordinatorClient client(ClientOptions({address, first_->address()}), files_);
  first_->registry.SetStandby("");
  ASSERT_TRUE(RunUntil(client, [&] { return not_leaders_ >= 3; }));
  second.reset();
  first_->Lead();
  ASSERT_TRUE(Welcomed(client));
}

TEST_F(LeaderDiscoveryTest, AgentsFindTheNextLeaderWhenTheFirstIsGone) {
  auto second = std::make_unique<Replica>(*api_, clock_, 2);
  second->registry.SetStandby(first_->address());
  first_->Lead();
  agent::CoordinatorClient client(ClientOptions({first_->address(), second->address()}), files_);
  ASSERT_TRUE(Welcomed(client));
  first_->server.reset();
  second->Lead();
  ASSERT_TRUE(Welcomed(client, 2));
  EXPECT_EQ(client.certificates(), 1);
}

TEST_F(LeaderDiscoveryTest, AgentsLeaveALeaderThatHasGoneSilent) {
  auto second = std::make_unique<Replica>(*api_, clock_, 2);
  second->Lead();
  first_->Lead();
  tests::FreezableRelay relay(first_->address());
  agent::CoordinatorClientOptions options = ClientOptions({relay.address(), second->address()});
  options.silence = absl::Seconds(2);  // real time, because the connection's pings measure it
  agent::CoordinatorClient client(std::move(options), files_);
  ASSERT_TRUE(Welcomed(client));
  EXPECT_EQ(terms_.front(), 1);
  relay.Freeze();
  // The agent may have left the first replica briefly before, if the machine is busy.
  EXPECT_TRUE(RunUntil(client, [&] { return terms_.back() == 2; }));
}

}  // namespace
}  // namespace muster
