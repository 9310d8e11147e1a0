#include "trainer/engine/store/compare_digests.h"

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/commit/judge_item.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/rejoin_fixture.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

using ::testing::HasSubstr;
using v1alpha1::ResumePoint;

class CompareDigestsTest : public RejoinTest {
 protected:
  struct Outcome {
    std::vector<absl::Status> said;
    std::vector<bool> kept;  // by rank: it still holds the version
  };
  // Compares ranks that hold the truth, but for what `change` does to a rank's state.
  Outcome Compare(
      const MeshShape& mesh, const ResumePoint& resume,
      const std::function<void(int rank, TrainingState&)>& change,
      const std::function<Proof(int rank)>& prove = [](int) { return Proof::kNone; }) {
    const auto ranks = static_cast<size_t>(mesh.size());
    LocalGroups groups(mesh);
    Outcome outcome{std::vector<absl::Status>(ranks), {}};
    std::vector<int> kept(ranks);
    for (int r = 0; r < mesh.size(); ++r) TruthOf(PlaceOf(mesh, r).part, PlaceOf(mesh, r).stage);
    std::vector<std::thread> threads;
    for (int r = 0; r < mesh.size(); ++r) {
      threads.emplace_back([&, r] {
        TrainingOptions options = TinyOptions();
        options.parts = mesh.tensor;
        options.stages = mesh.pipeline;
        const CopyPlace place = PlaceOf(mesh, r);
        auto state = MakeTinyState(options, 0.0, nullptr, place.part.index, place.stage.index);
        Enter(*truth_.state->applied(), 1, *state);
        Hold(place.shard, TruthOf(place.part, place.stage), *state);
        change(r, *state);
        const RoundGroups of_rank = groups.Of(r);
        if (of_rank.shard != nullptr) EXPECT_TRUE(GatherValues(*of_rank.shard, *state).ok());
        outcome.said[static_cast<size_t>(r)] =
            CompareDigests(resume, mesh, *of_rank.world, *state, [&] { return prove(r); });
        kept[static_cast<size_t>(r)] = state->applied().has_value() ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    outcome.kept.assign(kept.begin(), kept.end());
    return outcome;
  }
  ResumePoint AllLive(const MeshShape& mesh) {
    std::vector<std::optional<Shard>> held;
    for (int r = 0; r < mesh.size(); ++r) held.emplace_back(PlaceOf(mesh, r).shard);
    return Resume(held, {}, mesh.tensor, [&](int r) { return PlaceOf(mesh, r).stage; });
  }
  // Changes one weight of these ranks, each in its own way.
  static std::function<void(int, TrainingState&)> Spoil(const std::vector<int>& ranks) {
    return [ranks](int rank, TrainingState& state) {
      if (std::count(ranks.begin(), ranks.end(), rank) == 0) return;
      state.units()[0].held().values.narrow(0, 3, 1).add_(1.0 + rank);
    };
  }
  std::string NameOfUnit(size_t unit) const { return truth_.state->units()[unit].layout().name; }
};

TEST_F(CompareDigestsTest, TheFirstRankIsWrongWhereTheOthersAgree) {
  const MeshShape mesh{.data = 3};
  const Outcome outcome = Compare(mesh, AllLive(mesh), Spoil({0}));
  for (const absl::Status& status : outcome.said) {
    EXPECT_TRUE(absl::IsDataLoss(status));
    EXPECT_EQ(status.message(),
              "rank 0 and ranks 1 and 2 differ at step 2 (attempt 1) in the values of unit " +
                  NameOfUnit(0) +
                  "; the latter are in the majority: the former give up their state and receive "
                  "it anew");
  }
  EXPECT_EQ(outcome.kept, (std::vector<bool>{false, true, true}));
}

TEST_F(CompareDigestsTest, OfTwoThatDifferTheCheckpointSaysWhichIsRight) {
  const MeshShape mesh{.data = 2};
  const Outcome outcome = Compare(mesh, AllLive(mesh), Spoil({0}), [](int rank) {
    return rank == 0 ? Proof::kWrong : Proof::kRight;
  });
  for (const absl::Status& status : outcome.said) {
    EXPECT_TRUE(absl::IsDataLoss(status));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("the latter have what the checkpoint has"));
  }
  EXPECT_EQ(outcome.kept, (std::vector<bool>{false, true}));
}

TEST_F(CompareDigestsTest, TwoThatDifferWithoutACheckpointKeepBothWhatTheyHave) {
  const MeshShape mesh{.data = 2};
  const Outcome outcome = Compare(mesh, AllLive(mesh), Spoil({1}));
  for (const absl::Status& status : outcome.said) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("rank 0 and rank 1 differ at step 2 (attempt 1) in the values of unit " +
                          NameOfUnit(0) + ", and nothing tells which is right"));
  }
  EXPECT_EQ(outcome.kept, (std::vector<bool>{true, true}));
}

// Rank 0 has sent its state to ranks 2 and 3.
TEST_F(CompareDigestsTest, RanksThatReceivedTheStateAreNoMajority) {
  const MeshShape mesh{.data = 4};
  const ResumePoint resume = Resume({Shard{}, Shard{}, std::nullopt, std::nullopt});
  const auto spread = [](int rank, TrainingState& state) {
    if (rank != 1) state.units()[0].held().values.narrow(0, 3, 1).add_(1.0);
  };
  const Outcome outcome = Compare(mesh, resume, spread);
  EXPECT_TRUE(absl::IsFailedPrecondition(outcome.said[0])) << outcome.said[0];
  EXPECT_EQ(outcome.kept, (std::vector<bool>{true, true, true, true}));
}

TEST_F(CompareDigestsTest, OfADividedStateEverySliceHasAMajorityOfItsOwn) {
  const MeshShape mesh{.data = 3, .shard = 2};
  const Outcome outcome = Compare(mesh, AllLive(mesh), [](int rank, TrainingState& state) {
    if (rank == 1) state.optimizer().state(1)[0].add_(1.0);
  });
  for (const absl::Status& status : outcome.said) {
    EXPECT_TRUE(absl::IsDataLoss(status));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("rank 1 and ranks 3 and 5 differ at step 2 (attempt 1) in the "
                          "optimizer's state of unit " +
                          NameOfUnit(1)));
  }
  EXPECT_EQ(outcome.kept, (std::vector<bool>{true, false, true, true, true, true}));
}

// Ranks 1, 3 and 5 have the second part; all have the units that are whole.
TEST_F(CompareDigestsTest, EveryPartOfTheModelHasAMajorityOfItsOwnAndWhatIsWholeOneOfAll) {
  const MeshShape mesh{.data = 3, .tensor = 2};
  EXPECT_TRUE(Compare(mesh, AllLive(mesh), Spoil({})).said[0].ok());
  const auto spoil = [&](bool part) {
    return Compare(mesh, AllLive(mesh), [part](int rank, TrainingState& state) {
      const auto unit = std::find_if(state.units().begin(), state.units().end(),
                                     [&](const auto& u) { return u.layout().is_part == part; });
      if (rank == 3) unit->held().values.narrow(0, 3, 1).add_(1.0);
    });
  };
  const Outcome of_part = spoil(true), of_whole = spoil(false);
  EXPECT_THAT(std::string(of_part.said[0].message()),
              HasSubstr("rank 3 and ranks 1 and 5 differ at step 2 (attempt 1) in the values"));
  EXPECT_THAT(std::string(of_whole.said[0].message()),
              HasSubstr("rank 3 and ranks 0, 1, 2, 4 and 5 differ at step 2 (attempt 1)"));
  for (const Outcome& outcome : {of_part, of_whole}) {
    EXPECT_EQ(outcome.kept, (std::vector<bool>{true, true, true, false, true, true}));
  }
}

// Ranks 3 to 5 have the second stage. The tied embedding, unit 0, is of both.
TEST_F(CompareDigestsTest, EveryStageHasAMajorityOfItsOwnAndWhatTwoShareOneOfBoth) {
  const MeshShape mesh{.pipeline = 2, .data = 3};
  const auto spoil = [&](size_t unit) {
    return Compare(mesh, AllLive(mesh), [unit](int rank, TrainingState& state) {
      if (rank == 4) state.units()[unit].held().values.narrow(0, 3, 1).add_(1.0);
    });
  };
  EXPECT_TRUE(Compare(mesh, AllLive(mesh), Spoil({})).said[0].ok());
  const size_t last = truth_.state->units().size() - 1;
  EXPECT_THAT(std::string(spoil(last).said[0].message()),
              HasSubstr("rank 4 and ranks 3 and 5 differ at step 2 (attempt 1) in the values"));
  EXPECT_THAT(std::string(spoil(0).said[0].message()),
              HasSubstr("rank 4 and ranks 0, 1, 2, 3 and 5 differ at step 2 (attempt 1)"));
}

TEST_F(CompareDigestsTest, CountsAreComparedToo) {
  const MeshShape mesh{.data = 3};
  const Outcome outcome = Compare(mesh, AllLive(mesh), [](int rank, TrainingState& state) {
    if (rank == 2) state.set_counts({.updates = 1});
  });
  EXPECT_THAT(std::string(outcome.said[0].message()),
              HasSubstr("in their version or their counts of updates, samples and skipped steps"));
  EXPECT_EQ(outcome.kept, (std::vector<bool>{true, true, false}));
}

}  // namespace
}  // namespace muster::trainer
