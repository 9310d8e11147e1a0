// Tests that ranks come to hold the state with the replicas of slices that no rank has.

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/rejoin_fixture.h"
#include "trainer/engine/testing/solo_engine.h"

namespace muster::trainer {
namespace {

using ::testing::ElementsAre;
using v1alpha1::ResumePoint;

using RejoinReplicasTest = RejoinTest;

// Each of up to four ranks that divided the state is lost in turn, and each survivor, or a rank
// that held nothing, reads its replica.
TEST_F(RejoinReplicasTest, SurvivorsPutTheStateTogetherWithTheReplicaOfALostSlice) {
  const TrainingOptions options = Dividing({});
  for (int before = 2; before <= 4; ++before) {
    for (int lost = 0; lost < before; ++lost) {
      for (int keeper = 0; keeper < before; ++keeper) {
        std::vector<std::optional<Shard>> held;
        for (int r = 0; r < before; ++r) {
          if (r != lost) held.emplace_back(Shard{r, before});
        }
        if (keeper == before - 1) held.emplace_back(std::nullopt);
        const int ranks = static_cast<int>(held.size());
        for (const MeshShape& after : {MeshShape{.shard = ranks}, MeshShape{.data = ranks}}) {
          for (const absl::Status& status :
               Move(held, after, options, options, {{keeper, Shard{lost, before}}})) {
            EXPECT_TRUE(status.ok()) << lost << " of " << before << " lost, kept by " << keeper
                                     << ", to " << after.shard << ": " << status;
          }
        }
      }
    }
  }
}

TEST_F(RejoinReplicasTest, BytesOfAReplicaAreNotAmongThoseReceivedFromMemory) {
  const TrainingOptions options = Dividing({});
  const std::vector<Replica> replicas = {{0, Shard{1, 2}}};
  for (const absl::Status& status :
       Move({Shard{0, 2}, std::nullopt}, {.data = 2}, options, options, replicas)) {
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_THAT(received_, ElementsAre(0, BytesOf({0, 2})));
}

// Parts of a vocabulary that two ranks divide have different numbers of chunks.
TEST_F(RejoinReplicasTest, ARankReadsTheReplicaOfAnotherPartOfTheModelThanItsOwn) {
  const TrainingOptions options = Dividing({});
  for (int lost = 0; lost < 2; ++lost) {
    std::vector<std::optional<Shard>> held(4);
    held[static_cast<size_t>(1 - lost)] = Shard{};
    for (int keeper = 0; keeper < 4; ++keeper) {
      for (const MeshShape& after :
           {MeshShape{.data = 2, .tensor = 2}, MeshShape{.shard = 2, .tensor = 2}}) {
        for (const absl::Status& status :
             Move(held, after, options, options, {{keeper, Shard{}, lost}})) {
          EXPECT_TRUE(status.ok())
              << "part " << lost << " lost, kept by " << keeper << ": " << status;
        }
      }
    }
  }
}

TEST_F(RejoinReplicasTest, ReplicasServeEveryDivisionWhereverStateRests) {
  const Division all = {.values = true, .gradients = true};
  for (const TrainingOptions& options :
       {Dividing({.gradients = true}), Dividing(all),
        Dividing(all, {.optimizer = true, .weights = true, .directory = "disk"})}) {
    // Two of five ranks are lost, and the last has been added.
    for (const absl::Status& status :
         Move({Shard{4, 5}, Shard{0, 5}, Shard{2, 5}, std::nullopt}, {.data = 2, .shard = 2},
              options, options, {{2, Shard{1, 5}}, {3, Shard{3, 5}}})) {
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

TEST_F(RejoinReplicasTest, AReplicaThatCannotBeReadBreaksTheMoveOffForAllAndLeavesWhatRanksHeld) {
  const MeshShape mesh{.shard = 2};
  const std::vector<Replica> replicas = {{1, Shard{1, 3}}};
  const ResumePoint resume = Resume({Shard{0, 3}, Shard{2, 3}}, replicas);
  LocalGroups groups(mesh);
  std::vector<absl::Status> said(2);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      auto state = MakeTinyState(TinyOptions(), 0.0);
      Enter(*truth_.state->applied(), 1, *state);
      const Shard held = {2 * r, 3};
      Hold(held, *truth_.state, *state);
      StoredSlices stored(1);
      if (r == 1) {
        auto slice = std::make_unique<StoredTruth>(*truth_.state, replicas[0].shard);
        slice->FailAfter(3);
        stored[0] = std::move(slice);
      }
      said[static_cast<size_t>(r)] =
          TransferState(resume, mesh, *groups.Of(r).world, *state, stored).status();
      EXPECT_EQ(state->shard(), held);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(said[0].ok());
  EXPECT_EQ(said[1].message(), "the replica is damaged");
}

TEST_F(RejoinReplicasTest, AnOrderToReadAReplicaThatWasNotOpenedIsRefused) {
  auto state = MakeTinyState(TinyOptions(), 0.0);
  LocalGroups groups({.data = 1});
  EXPECT_EQ(TransferState(Resume({Shard{0, 1}}, {{0, Shard{1, 2}}}), {.data = 1},
                          *groups.Of(0).world, *state)
                .status()
                .message(),
            "the order to go names a replica that this rank did not open");
}

}  // namespace
}  // namespace muster::trainer
