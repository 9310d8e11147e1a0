#include "trainer/engine/store/rejoin.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/rejoin_fixture.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/offload/memory_state_files.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

using ::testing::ElementsAre;
using v1alpha1::ResumePoint;

TEST_F(RejoinTest, EveryLayoutBecomesEveryOtherBesideRanksThatHeldNothing) {
  const std::vector<MeshShape> layouts = {{.data = 2},  {.data = 3},  {.shard = 2},
                                          {.shard = 3}, {.shard = 4}, {.data = 2, .shard = 2}};
  for (const MeshShape& before : layouts) {
    for (const MeshShape& after : layouts) {
      if (after.size() < before.size()) continue;
      std::vector<std::optional<Shard>> held(static_cast<size_t>(after.size()));
      for (int r = 0; r < before.size(); ++r)
        held[static_cast<size_t>(r)] = PlaceOf(before, r).shard;
      for (const absl::Status& status : Move(held, after)) {
        EXPECT_TRUE(status.ok()) << before.data << " x " << before.shard << " to " << after.data
                                 << " x " << after.shard << ": " << status;
      }
    }
  }
}

// The parts are not of one size: two ranks divide a vocabulary of 61.
TEST_F(RejoinTest, EveryLayoutOfPartsBecomesEveryOtherOfAsMany) {
  const std::vector<MeshShape> layouts = {{.data = 2, .tensor = 2},
                                          {.shard = 2, .tensor = 2},
                                          {.shard = 3, .tensor = 2},
                                          {.data = 2, .shard = 2, .tensor = 2}};
  for (const Division& division : {Division{}, Division{.values = true, .gradients = true}}) {
    for (const MeshShape& before : layouts) {
      for (const MeshShape& after : layouts) {
        if (after.size() < before.size()) continue;
        std::vector<std::optional<Shard>> held(static_cast<size_t>(after.size()));
        for (int r = 0; r < before.size(); ++r) {
          held[static_cast<size_t>(r)] = PlaceOf(before, r).shard;
        }
        for (const absl::Status& status : Move(held, after, division, division)) {
          EXPECT_TRUE(status.ok()) << before.data << " x " << before.shard << " to " << after.data
                                   << " x " << after.shard << ": " << status;
        }
      }
    }
  }
}

TEST_F(RejoinTest, WhatEveryRankHasComesFromAnyPartAndTheRestFromTheSameOne) {
  // Only the last rank is left of those with the second part.
  const auto said = Move({Shard{}, std::nullopt, std::nullopt, Shard{}}, {.data = 2, .tensor = 2});
  for (const absl::Status& status : said) EXPECT_TRUE(status.ok()) << status;
  // No rank of the second part is left: all find that alike, unless another broke off before.
  const auto lost = Move({Shard{}, std::nullopt, Shard{}, std::nullopt}, {.data = 2, .tensor = 2});
  for (const absl::Status& status : lost) {
    EXPECT_TRUE(absl::IsInternal(status) || absl::IsUnavailable(status)) << status;
  }
  EXPECT_TRUE(std::any_of(lost.begin(), lost.end(), absl::IsInternal));
}

TEST_F(RejoinTest, EveryLayoutOfStagesBecomesEveryOtherOfAsMany) {
  const std::vector<MeshShape> layouts = {{.pipeline = 2},
                                          {.pipeline = 2, .data = 2},
                                          {.pipeline = 2, .shard = 2},
                                          {.pipeline = 2, .shard = 3},
                                          {.pipeline = 2, .data = 2, .tensor = 2}};
  for (const MeshShape& before : layouts) {
    for (const MeshShape& after : layouts) {
      if (after.size() < before.size() || after.tensor != before.tensor) continue;
      std::vector<std::optional<Shard>> held(static_cast<size_t>(after.size()));
      for (int r = 0; r < before.size(); ++r) {
        held[static_cast<size_t>(r)] = PlaceOf(before, r).shard;
      }
      // A rank keeps its number, and may get another stage.
      const auto stage_of = [&](int r) {
        return r < before.size() ? PlaceOf(before, r).stage : ModelStage{0, before.pipeline};
      };
      for (const Division& division : {Division{}, Division{.values = true, .gradients = true}}) {
        for (const absl::Status& status :
             Move(held, after, Dividing(division), Dividing(division), {}, stage_of)) {
          EXPECT_TRUE(status.ok()) << before.size() << " (" << before.shard << ") to "
                                   << after.size() << " (" << after.shard << "): " << status;
        }
      }
    }
  }
}

// The ranks are left over from two pipelines of three stages.
TEST_F(RejoinTest, RanksChangeTheirStagesWithoutLosingWhatOthersNeedOfTheOldOnes) {
  const std::vector<int> stages = {2, 0, 1};
  const auto said = Move({Shard{}, Shard{}, Shard{}}, {.pipeline = 3}, TinyOptions(), TinyOptions(),
                         {}, [&](int r) { return ModelStage{stages[static_cast<size_t>(r)], 3}; });
  for (const absl::Status& status : said) EXPECT_TRUE(status.ok()) << status;
}

TEST_F(RejoinTest, EveryDivisionBecomesEveryOtherInTheSameLayoutAndInAnother) {
  const MeshShape mesh{.data = 2, .shard = 2};
  const std::vector<Division> divisions = {
      {}, {.gradients = true}, {.values = true, .gradients = true}};
  std::vector<std::optional<Shard>> held;
  for (int r = 0; r < 4; ++r) held.push_back(PlaceOf(mesh, r).shard);
  held[1].reset();
  for (const Division& before : divisions) {
    for (const Division& after : divisions) {
      for (const MeshShape& to : {mesh, MeshShape{.shard = 4}, MeshShape{.data = 4}}) {
        for (const absl::Status& status : Move(held, to, before, after)) {
          EXPECT_TRUE(status.ok()) << before.values << before.gradients << " to " << after.values
                                   << after.gradients << ", " << to.shard << ": " << status;
        }
      }
    }
  }
}

TEST_F(RejoinTest, StateThatRestsInMemoryOrInFilesComesToRestWhereTheOptionsSay) {
  const Division all = {.values = true, .gradients = true};
  const std::vector<OffloadOptions> offloads = {
      {},
      {.optimizer = true, .directory = "disk"},
      {.weights = true, .directory = "disk"},
      {.optimizer = true, .weights = true, .directory = "disk"},
      {.optimizer = true, .weights = true, .directory = "other disk"}};
  const MeshShape mesh{.data = 2, .shard = 2};
  const std::vector<std::optional<Shard>> held = {Shard{0, 2}, std::nullopt, Shard{0, 2},
                                                  Shard{1, 2}};
  for (const OffloadOptions& before : offloads) {
    for (const OffloadOptions& after : offloads) {
      for (const MeshShape& to : {mesh, MeshShape{.shard = 4}, MeshShape{.data = 4}}) {
        for (const absl::Status& status :
             Move(held, to, Dividing(all, before), Dividing(all, after))) {
          EXPECT_TRUE(status.ok())
              << before.optimizer << before.weights << " to " << after.optimizer << after.weights
              << ", " << to.shard << ": " << status;
        }
      }
    }
  }
  EXPECT_EQ(disk_.used(), 0u) << "files end with the states that they are of";
}

TEST_F(RejoinTest, ADiskThatFailsBreaksTheMoveOffForAllAndLeavesWhatRanksHeld) {
  const TrainingOptions options =
      Dividing({.values = true}, {.optimizer = true, .weights = true, .directory = "disk"});
  const MeshShape mesh{.shard = 2};
  LocalGroups groups(mesh);
  const ResumePoint resume = Resume({Shard{0, 1}, Shard{0, 1}});
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      MemoryStateFiles disk;
      auto state = MakeTinyState(options, 0.0, &disk);
      Enter(*truth_.state->applied(), 1, *state);
      Hold({0, 1}, *truth_.state, *state);
      const auto before = state->Digest();
      if (r == 0) disk.FailAfter(5);
      const absl::Status moved = TransferState(resume, mesh, *groups.Of(r).world, *state).status();
      disk.FailAfter(-1);
      if (r == 0) {
        EXPECT_EQ(moved.message(), "cannot read: the disk fails");
        EXPECT_EQ(state->Digest(), before);
        EXPECT_TRUE(state->shard().whole());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RejoinTest, SurvivorsOfADividedCopyAndAnotherGoOnWithWhatIsLeft) {
  // There were two copies in two parts each, and two ranks died.
  for (const MeshShape& after : {MeshShape{.data = 2}, MeshShape{.shard = 2}}) {
    for (const absl::Status& status : Move({Shard{1, 2}, Shard{0, 2}}, after)) {
      EXPECT_TRUE(status.ok()) << status;
    }
  }
  // Some ranks had come to the next layout when its round broke.
  for (const absl::Status& status :
       Move({Shard{0, 2}, Shard{2, 4}, std::nullopt, Shard{3, 4}}, {.data = 2, .shard = 2})) {
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_F(RejoinTest, ARankReceivesTheBytesThatItDidNotHave) {
  const int64_t all = BytesOf({0, 1});
  for (const absl::Status& status : Move({Shard{0, 1}, Shard{0, 1}, std::nullopt}, {.data = 3})) {
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_THAT(received_, ElementsAre(0, 0, all));
  for (const absl::Status& status : Move({Shard{0, 2}, Shard{1, 2}}, {.data = 2})) {
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_THAT(received_, ElementsAre(BytesOf({1, 2}), BytesOf({0, 2})));
  for (const absl::Status& status : Move({Shard{0, 2}, Shard{1, 2}}, {.shard = 2})) {
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_THAT(received_, ElementsAre(0, 0));
}

TEST_F(RejoinTest, AnOrderThatMistakesWhatARankHoldsIsRefused) {
  auto state = MakeTinyState(TinyOptions(), 0.0);
  LocalGroups groups({.data = 1});
  EXPECT_EQ(TransferState(Resume({Shard{1, 2}}), {.data = 1}, *groups.Of(0).world, *state)
                .status()
                .message(),
            "the order to go says that this rank holds shard 1 of 2, and it holds 0 of 1");
  EXPECT_EQ(
      TransferState(Resume({Shard{}}, {{.rank = 0}}, 2), {.data = 1}, *groups.Of(0).world, *state)
          .status()
          .message(),
      "the order to go says that this rank holds shard 0 of 2, and it holds 0 of 1");
}

}  // namespace
}  // namespace muster::trainer
