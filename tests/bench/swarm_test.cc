// Runs the benchmarks `agents` and `round` at a size that a test can afford. They must keep
// working, and their promises about threads and a change of leader must not depend on the size.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"
#include "tests/bench/agent_swarm.h"
#include "tests/bench/swarm_world.h"

namespace muster {
namespace {

int ThreadsOfThisProcess() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int threads = 0;
  while (status >> word) {
    if (word == "Threads:") status >> threads;
  }
  return threads;
}

int OpenFilesOfThisProcess() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<int>(std::distance(begin(files), end(files)));
}

TEST(SwarmTest, TwoHundredAgentsNeedNoThreadEachAndFollowTheLeader) {
  constexpr int kAgents = 200;
  auto world = *SwarmWorld::Start(2, {});
  absl::Status status =
      world->RunUntil([&] { return world->leader() != nullptr; }, kPatience, "a leader");
  ASSERT_TRUE(status.ok()) << status;
  const int threads_without_agents = ThreadsOfThisProcess();
  const auto job = world->CreateJob("gpt", kAgents);
  ASSERT_TRUE(job.ok()) << job.status();
  status = world->RunUntil([&] { return world->IsActive(*job); }, kPatience, "the first round");
  ASSERT_TRUE(status.ok()) << status;
  agent::AgentSwarm& swarm = world->swarm();
  EXPECT_EQ(swarm.welcomed(), kAgents);
  EXPECT_EQ(world->leader()->agents().attached(), kAgents);
  EXPECT_EQ(world->api().reviews(), kAgents);
  EXPECT_LT(ThreadsOfThisProcess() - threads_without_agents, kAgents / 4)
      << "of two operators, agents and kubelet";

  // Each agent has one connection with two ends, and descriptors that wake its loop.
  status = world->RunUntil([&] { return OpenFilesOfThisProcess() < 4 * kAgents; }, kPatience,
                           "the connections for certificates are gone");
  EXPECT_TRUE(status.ok()) << status;

  world->StopLeader();
  status = world->RunUntil(
      [&] {
        const control::OperatorApp* leader = world->leader();
        return leader != nullptr && swarm.welcomed() == kAgents && swarm.streams_lost() >= kAgents;
      },
      kPatience, "all agents at the next leader");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(world->leader()->agents().attached(), kAgents);
  EXPECT_EQ(world->api().reviews(), kAgents) << "certificates are good at every replica";
  EXPECT_EQ(swarm.rounds().at(*job).id.round(), 1) << "the round is adopted";
}

TEST(SwarmTest, ARoundOfSixtyFourOpensAndOpensAgain) {
  constexpr int kMembers = 64;
  agent::AgentSwarm::Options options;
  options.ready_after = absl::Milliseconds(100);
  options.joined_after = absl::Milliseconds(20);
  auto world = *SwarmWorld::Start(1, options);
  const auto job = world->CreateJob("gpt", kMembers);
  ASSERT_TRUE(job.ok()) << job.status();
  absl::Status status =
      world->RunUntil([&] { return world->IsActive(*job); }, kPatience, "the first round");
  ASSERT_TRUE(status.ok()) << status;
  const agent::AgentSwarm::Round first = world->swarm().rounds().at(*job);
  EXPECT_EQ(first.members, kMembers);
  EXPECT_EQ(first.prepared, kMembers);
  EXPECT_EQ(first.told_go, kMembers);
  EXPECT_GE(first.last_go - first.first_prepare, options.ready_after);

  world->swarm().FailRank(*job);
  status = world->RunUntil(
      [&] {
        return world->swarm().rounds().at(*job).id.round() > first.id.round() &&
               world->IsActive(*job);
      },
      kPatience, "the second round");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(world->swarm().rounds().at(*job).told_go, kMembers);
}

}  // namespace
}  // namespace muster
