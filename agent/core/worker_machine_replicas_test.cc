#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/worker_machine_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using v1alpha1::OperatorMessage;
using v1alpha1::ReplicaPeer;

ReplicaPeer Peer(int worker) {
  ReplicaPeer peer;
  peer.set_worker(worker);
  peer.set_endpoint("unix:/run/replicas.sock");
  return peer;
}

v1alpha1::TrainingJobSpec SpecWith(int replicas) {
  v1alpha1::TrainingJobSpec spec;
  spec.mutable_trainer();
  v1alpha1::MemoryCheckpointSpec& memory = *spec.mutable_checkpoint()->mutable_memory();
  memory.set_every_steps(5);
  memory.set_size("6Ki");
  memory.set_replicas(replicas);
  return spec;
}

World AttachedWorld(int replicas) {
  World world;
  world.welcome_spec = SpecWith(replicas);
  world.Welcome(1);
  return world;
}

bool WasPrepared(World& world, int rank) {
  for (const v1alpha1::ToTrainer& told : world.TakeTold(rank)) {
    if (told.has_prepare()) return true;
  }
  return false;
}

void Replicate(World& world, int64_t round, std::optional<ReplicaPeer> peer) {
  OperatorMessage message;
  *message.mutable_replicate()->mutable_round() = Round(1, round);
  if (peer) *message.mutable_replicate()->mutable_peer() = *peer;
  world.Say(message);
}

TEST(WorkerMachineReplicasTest, HalfOfTheMemoryIsForReplicasOfOthers) {
  World world = AttachedWorld(1);
  world.Prepare(1, 1);
  EXPECT_THAT(world.replica_rooms(), Contains(3 << 10));
  EXPECT_THAT(world.replica_rooms(), Each(3 << 10));
}

TEST(WorkerMachineReplicasTest, AJobWithoutReplicasServesAndFetchesNone) {
  World world = AttachedWorld(0);
  world.replicas_at = {Peer(0)};
  world.Prepare(1, 1);
  EXPECT_THAT(world.replica_rooms(), IsEmpty());
  EXPECT_THAT(world.fetches(), IsEmpty());
  EXPECT_TRUE(WasPrepared(world, 0));
}

v1alpha1::TrainingJobSpec SpecWithDisk() {
  v1alpha1::TrainingJobSpec spec = SpecWith(0);
  spec.mutable_checkpoint()->mutable_memory()->mutable_disk()->set_path("/disk");
  return spec;
}

TEST(WorkerMachineReplicasTest, CopiesOnDiskAreServedAndLookedForWithoutReplicas) {
  World world;
  world.welcome_spec = SpecWithDisk();
  world.Welcome(1);
  world.Prepare(1, 1);
  EXPECT_THAT(world.replica_rooms(), Each(0));
  EXPECT_THAT(world.disks(), Contains("/disk"));
  ASSERT_THAT(world.fetches(), SizeIs(1)) << "its own disk, even if nobody else has any";
  EXPECT_THAT(world.fetches()[0].sources, IsEmpty());
  EXPECT_FALSE(WasPrepared(world, 0));
  world.Do(ReplicasFetched{});
  EXPECT_TRUE(WasPrepared(world, 0));
}

TEST(WorkerMachineReplicasTest, CopiesAreKeptOnDiskAsTheNewestRoundSays) {
  World world = AttachedWorld(0);
  world.Run(1, 2);
  for (const int64_t round : {1, 2}) {
    OperatorMessage message;
    *message.mutable_to_disk()->mutable_round() = Round(1, round);
    message.mutable_to_disk()->set_from_step(10 * round);
    world.Say(message);
  }
  EXPECT_THAT(world.kept_on_disk(), ElementsAre(20));
}

// Returns true if a worker, whose ranks may have come to their end, removes copies when `end` ends
// it.
bool RemovesCopies(v1alpha1::TrainingJobSpec spec, bool finished, void (*end)(World& world)) {
  World world;
  world.welcome_spec = std::move(spec);
  world.Welcome(1);
  world.Prepare(1, 1);
  for (int rank : {0, 1}) world.Hello(rank);
  world.Do(ReplicasFetched{});
  for (int rank : {0, 1}) world.Ready(rank, Round(1, 1));
  world.Go(1, 1);
  for (int rank : {0, 1}) world.Joined(rank, Round(1, 1));
  for (int rank : {0, 1}) {
    if (finished) world.Finished(rank);
  }
  end(world);
  for (int rank : {0, 1}) world.End(rank, 0);
  world.Do(Tick{});
  EXPECT_TRUE(world.exited());
  return world.removed_from_disk();
}

TEST(WorkerMachineReplicasTest, CopiesOnDiskAreRemovedOnceTheJobHasSucceeded) {
  const auto stop = [](World& world) { world.Stop(1, 1, false); };
  const auto suspend = [](World& world) { world.Stop(1, 1, true); };
  const auto terminate = [](World& world) { world.Do(Terminate{SIGTERM}); };
  EXPECT_TRUE(RemovesCopies(SpecWithDisk(), true, stop));
  EXPECT_FALSE(RemovesCopies(SpecWith(0), true, stop));
  EXPECT_FALSE(RemovesCopies(SpecWithDisk(), false, stop)) << "the job may be repeated";
  EXPECT_FALSE(RemovesCopies(SpecWithDisk(), true, suspend)) << "other workers had not finished";
  EXPECT_FALSE(RemovesCopies(SpecWithDisk(), true, terminate)) << "nobody said why";
}

TEST(WorkerMachineReplicasTest, ASpareFetchesTheCopiesOfTheWorkerWhosePlaceItTakes) {
  for (const bool spare : {false, true}) {
    World world = AttachedWorld(1);
    world.replicas_at = {Peer(0)};
    if (spare) world.copies_of = 7;
    world.Prepare(1, 1);
    ASSERT_THAT(world.fetches(), SizeIs(1));
    const int own = 1;
    EXPECT_EQ(world.fetches()[0].of, spare ? 7 : own);
  }
}

TEST(WorkerMachineReplicasTest, RanksStartButAreAskedOnlyOnceTheirCopiesAreFetched) {
  World world = AttachedWorld(1);
  world.replicas_at = {Peer(0)};
  world.Prepare(1, 1);
  ASSERT_THAT(world.fetches(), SizeIs(1));
  EXPECT_EQ(world.fetches()[0].sources[0].worker(), 0);
  EXPECT_EQ(world.fetches()[0].within, absl::Seconds(30)) << "half of the time for Prepare";
  EXPECT_TRUE(world.alive(0) && world.alive(1));
  EXPECT_FALSE(WasPrepared(world, 0) || WasPrepared(world, 1));
  world.Do(ReplicasFetched{});
  EXPECT_TRUE(WasPrepared(world, 0) && WasPrepared(world, 1));
}

TEST(WorkerMachineReplicasTest, ANewerRoundAsksTheRanksOnceTheCopiesOfTheOlderAreFetched) {
  World world = AttachedWorld(1);
  world.replicas_at = {Peer(0)};
  world.Prepare(1, 1);
  world.Prepare(1, 2);
  EXPECT_THAT(world.fetches(), SizeIs(1)) << "one fetch at a time";
  EXPECT_FALSE(WasPrepared(world, 0));
  world.Do(ReplicasFetched{});
  EXPECT_TRUE(WasPrepared(world, 0));
}

TEST(WorkerMachineReplicasTest, RanksThatRanHaveCopiesOfTheirOwnAndFetchNothing) {
  World world = AttachedWorld(1);
  world.Run(1, 1);
  world.replicas_at = {Peer(0)};
  world.Prepare(1, 2);
  EXPECT_THAT(world.fetches(), IsEmpty());
}

TEST(WorkerMachineReplicasTest, ThePeerOfTheNewestRoundCounts) {
  World world = AttachedWorld(1);
  world.Run(1, 2);
  Replicate(world, 1, Peer(7));
  EXPECT_THAT(world.replicated_to(), IsEmpty()) << "an order of an older round";
  Replicate(world, 2, Peer(3));
  Replicate(world, 2, std::nullopt);
  ASSERT_THAT(world.replicated_to(), SizeIs(2));
  EXPECT_EQ(world.replicated_to()[0]->worker(), 3);
  EXPECT_FALSE(world.replicated_to()[1]);
}

// Returns the folders of replicas that the rank was told of in the newest Prepare.
std::vector<std::string> ReplicaFolders(World& world, int rank) {
  std::vector<std::string> folders;
  for (const v1alpha1::ToTrainer& told : world.TakeTold(rank)) {
    if (!told.has_prepare()) continue;
    const auto& named = told.prepare().replica_directories();
    folders.assign(named.begin(), named.end());
  }
  return folders;
}

TEST(WorkerMachineReplicasTest, EachRankIsToldWhereTheReplicasOfItsCounterpartAre) {
  WorkerConfig config = TwoRanks();
  config.copies_directory = "/dev/shm/muster-copies-1";
  World world(config);
  world.welcome_spec = SpecWith(1);
  world.Welcome(1);
  world.Run(1, 1);
  EXPECT_THAT(ReplicaFolders(world, 0), IsEmpty()) << "nothing is kept yet";
  v1alpha1::ReplicasKept kept;
  for (const int worker : {1, 4}) kept.add_workers(worker);
  world.Do(ReplicasChanged{kept, {4}});
  world.Prepare(1, 2);
  EXPECT_THAT(ReplicaFolders(world, 0), ElementsAre("/dev/shm/muster-copies-1/replicas-4/rank-0"))
      << "of worker 1 there are copies on the disk alone";
  EXPECT_THAT(ReplicaFolders(world, 1), ElementsAre("/dev/shm/muster-copies-1/replicas-4/rank-1"));
}

TEST(WorkerMachineReplicasTest, ARankThatTrainsIsToldHowItsReplicasStand) {
  World world = AttachedWorld(1);
  v1alpha1::ReplicaReport report;
  report.add_kept()->set_step(10);
  world.Prepare(1, 1);
  world.Do(ReplicaReported{1, report});
  for (const v1alpha1::ToTrainer& told : world.TakeTold(1)) EXPECT_FALSE(told.has_replica());
  for (int rank : {0, 1}) world.Hello(rank);
  for (int rank : {0, 1}) world.Ready(rank, Round(1, 1));
  world.Go(1, 1);
  for (int rank : {0, 1}) world.Joined(rank, Round(1, 1));
  for (int rank : {0, 1}) world.TakeTold(rank);
  world.Do(ReplicaReported{1, report});
  EXPECT_THAT(world.TakeTold(0), IsEmpty());
  const auto told = world.TakeTold(1);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].replica().kept(0).step(), 10);
  world.End(1, 1);
  world.TakeTold(1);
  world.Do(ReplicaReported{1, report});
  EXPECT_THAT(world.TakeTold(1), IsEmpty()) << "the next process is in no round yet";
}

TEST(WorkerMachineReplicasTest, EveryOperatorIsToldWhatIsKept) {
  World world = AttachedWorld(1);
  v1alpha1::ReplicasKept kept;
  kept.set_endpoint("unix:/own.sock");
  kept.add_workers(4);
  world.TakeSaid();
  world.Do(ReplicasChanged{kept, {4}});
  std::vector<v1alpha1::AgentMessage> said = world.TakeSaid();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].replicas().endpoint(), "unix:/own.sock");
  world.Do(StreamClosed{});
  world.Welcome(2);
  said = world.TakeSaid();
  ASSERT_THAT(said, SizeIs(2)) << "hello, and what is kept";
  EXPECT_THAT(said[1].replicas().workers(), ElementsAre(4));
}

}  // namespace
}  // namespace muster::agent
