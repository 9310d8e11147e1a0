#include "trainer/engine/rejoin.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/ops/equal.h"
#include "gtest/gtest.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/offload/memory_state_files.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

using v1alpha1::ResumePoint;

TrainingOptions Dividing(const Division& divided, const OffloadOptions& offload = {}) {
  TrainingOptions options = TinyOptions();
  options.divided = divided;
  options.offload = offload;
  return options;
}

// Makes a state hold `shard` of `truth`, whose every other value is not a number.
void Hold(const Shard& shard, const TrainingState& truth, TrainingState& state) {
  ASSERT_TRUE(state.Divide(shard).ok());
  for (size_t u = 0; u < state.units().size(); ++u) {
    const int unit = static_cast<int>(u);
    const Unit& held = state.units()[u];
    state.rests().MakeRoom(unit);
    if (!held.divides_values()) held.values().fill_(std::numeric_limits<double>::quiet_NaN());
    held.held().values.copy_(state.SliceOfFlat(unit, truth.units()[u].values()));
    const auto from = truth.optimizer().state(unit);
    auto into = state.optimizer().state(unit);
    for (size_t i = 0; i < into.size(); ++i) into[i].copy_(state.SliceOfFlat(unit, from[i]));
    ASSERT_TRUE(state.rests().Keep(unit).ok());
  }
  state.rests().Swap();
  state.set_counts(truth.counts());
}

bool Holds(const Shard& shard, const TrainingState& truth, const TrainingState& state) {
  bool equal = state.shard() == shard && state.counts() == truth.counts();
  for (size_t u = 0; u < state.units().size(); ++u) {
    const int unit = static_cast<int>(u);
    equal = equal && state.rests().Bring(unit).ok();
    equal = equal && at::equal(state.units()[u].values(), truth.units()[u].values());
    equal = equal && at::equal(state.units()[u].held().values,
                               state.SliceOfFlat(unit, truth.units()[u].values()));
    const auto theirs = truth.optimizer().state(unit);
    const auto ours = state.optimizer().state(unit);
    for (size_t i = 0; i < ours.size(); ++i) {
      equal = equal && at::equal(ours[i], state.SliceOfFlat(unit, theirs[i]));
    }
    state.rests().Drop(unit);
  }
  return equal;
}

// Brings the commit protocol of a state to `version` in `round`.
void Enter(const v1alpha1::Version& version, int64_t round, TrainingState& state) {
  v1alpha1::RoundId id;
  id.set_round(round);
  ASSERT_TRUE(state.commit().Prepare(id).ok());
  ResumePoint fresh;
  fresh.set_source(ResumePoint::FRESH);
  *fresh.mutable_version() = version;
  ASSERT_TRUE(state.commit().Go(id, 0, fresh).ok());
  ASSERT_TRUE(state.commit().Restored().ok());
}

// A slice of `truth`, which holds all, as if it were stored.
class StoredTruth final : public StoredSlice {
 public:
  StoredTruth(const TrainingState& truth, const Shard& shard) : truth_(truth), shard_(shard) {}
  absl::Status Read(const std::string& name, int64_t elements, int64_t begin,
                    const at::Tensor& into) override {
    if (reads_left_ == 0) return absl::DataLossError("the replica is damaged");
    if (reads_left_ > 0) --reads_left_;
    for (const NamedTensor& flat : truth_.FlatTensors()) {
      if (flat.name != name) continue;
      const TreeNode slice = SliceOf(flat.tensor.numel() / kChunkElements, shard_);
      EXPECT_EQ(elements, slice.leaves() * kChunkElements) << name;
      into.copy_(flat.tensor.narrow(0, slice.begin * kChunkElements + begin, into.numel()));
      return absl::OkStatus();
    }
    return absl::NotFoundError(name);
  }
  // The read after so many fails.
  void FailAfter(int reads) { reads_left_ = reads; }

 private:
  const TrainingState& truth_;
  const Shard shard_;
  int reads_left_ = -1;
};

// A replica that a rank of the new round reads.
struct Replica {
  int rank = 0;
  Shard shard;
};

class RejoinTest : public testing::Test {
 protected:
  RejoinTest() { truth_.Losses(2); }

  ResumePoint Resume(const std::vector<std::optional<Shard>>& held,
                     const std::vector<Replica>& replicas = {}) {
    ResumePoint resume;
    resume.set_source(ResumePoint::LIVE);
    *resume.mutable_version() = *truth_.state->applied();
    resume.set_donor(-1);
    for (int r = 0; r < static_cast<int>(held.size()); ++r) {
      const auto& shard = held[static_cast<size_t>(r)];
      v1alpha1::StateSlice& slice = *resume.add_slices();
      if (!shard) {
        resume.add_receivers(r);
        continue;
      }
      if (resume.donor() < 0) resume.set_donor(r);
      slice.set_shard(shard->index);
      slice.set_shards(shard->count);
    }
    for (const Replica& replica : replicas) {
      v1alpha1::ReplicaSource& source = *resume.add_replicas();
      source.set_rank(replica.rank);
      source.mutable_slice()->set_shard(replica.shard.index);
      source.mutable_slice()->set_shards(replica.shard.count);
    }
    return resume;
  }
  // Returns what `rank` reads of the replicas.
  StoredSlices Stored(const std::vector<Replica>& replicas, int rank) {
    StoredSlices stored;
    for (const Replica& replica : replicas) {
      stored.emplace_back();
      if (replica.rank != rank) continue;
      stored.back() = std::make_unique<StoredTruth>(*truth_.state, replica.shard);
    }
    return stored;
  }

  // Moves ranks that hold `held`, divided as `before`, to the layout `mesh`, divided as `after`;
  // returns what each rank says of it.
  std::vector<absl::Status> Move(const std::vector<std::optional<Shard>>& held,
                                 const MeshShape& mesh, const Division& before = {},
                                 const Division& after = {}) {
    return Move(held, mesh, Dividing(before), Dividing(after));
  }
  std::vector<absl::Status> Move(const std::vector<std::optional<Shard>>& held,
                                 const MeshShape& mesh, const TrainingOptions& before,
                                 const TrainingOptions& after,
                                 const std::vector<Replica>& replicas = {}) {
    const ResumePoint resume = Resume(held, replicas);
    LocalGroups groups(mesh);
    std::vector<std::unique_ptr<Communicator>> alone;
    for (size_t r = 0; r < held.size(); ++r) {
      alone.push_back(std::move(MakeLocalCommunicators({})[0]));
    }
    std::vector<absl::Status> said(held.size());
    std::vector<std::thread> threads;
    for (int r = 0; r < mesh.size(); ++r) {
      threads.emplace_back([&, r] {
        const auto rank = static_cast<size_t>(r);
        auto state = MakeTinyState(before, 0.0, &disk_);
        Enter(*truth_.state->applied(), 1, *state);
        if (held[rank]) Hold(*held[rank], *truth_.state, *state);
        EXPECT_TRUE(state->Configure(after).ok());
        const RoundGroups of_rank = groups.Of(r);
        said[rank] = TransferState(resume, mesh, *of_rank.world, *state, Stored(replicas, r));
        if (!said[rank].ok()) return;
        Communicator& shard = of_rank.shard == nullptr ? *alone[rank] : *of_rank.shard;
        said[rank] = GatherValues(shard, *state);
        if (!said[rank].ok()) return;
        said[rank] = CompareDigests(resume.donor(), mesh, *of_rank.world, *state);
        if (said[rank].ok() && !Holds(ShardOf(mesh, r), *truth_.state, *state)) {
          said[rank] = absl::InternalError("holds something else");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return said;
  }

  MemoryStateFiles disk_;
  SoloEngine truth_{TinyOptions()};
};

TEST_F(RejoinTest, EveryLayoutBecomesEveryOtherBesideRanksThatHeldNothing) {
  const std::vector<MeshShape> layouts = {{.data = 2},  {.data = 3},  {.shard = 2},
                                          {.shard = 3}, {.shard = 4}, {.data = 2, .shard = 2}};
  for (const MeshShape& before : layouts) {
    for (const MeshShape& after : layouts) {
      if (after.size() < before.size()) continue;
      std::vector<std::optional<Shard>> held(static_cast<size_t>(after.size()));
      for (int r = 0; r < before.size(); ++r) held[static_cast<size_t>(r)] = ShardOf(before, r);
      for (const absl::Status& status : Move(held, after)) {
        EXPECT_TRUE(status.ok()) << before.data << " x " << before.shard << " to " << after.data
                                 << " x " << after.shard << ": " << status;
      }
    }
  }
}

TEST_F(RejoinTest, EveryDivisionBecomesEveryOtherInTheSameLayoutAndInAnother) {
  const MeshShape mesh{.data = 2, .shard = 2};
  const std::vector<Division> divisions = {
      {}, {.gradients = true}, {.values = true, .gradients = true}};
  std::vector<std::optional<Shard>> held;
  for (int r = 0; r < 4; ++r) held.push_back(ShardOf(mesh, r));
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
      const absl::Status moved = TransferState(resume, mesh, *groups.Of(r).world, *state);
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

// Each of up to four ranks that divided the state is lost in turn, and each survivor, or a rank
// that held nothing, reads its replica.
TEST_F(RejoinTest, SurvivorsPutTheStateTogetherWithTheReplicaOfALostSlice) {
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

TEST_F(RejoinTest, ReplicasServeEveryDivisionWhereverStateRests) {
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

TEST_F(RejoinTest, AReplicaThatCannotBeReadBreaksTheMoveOffForAllAndLeavesWhatRanksHeld) {
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
          TransferState(resume, mesh, *groups.Of(r).world, *state, stored);
      EXPECT_EQ(state->shard(), held);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(said[0].ok());
  EXPECT_EQ(said[1].message(), "the replica is damaged");
}

TEST_F(RejoinTest, AnOrderToReadAReplicaThatWasNotOpenedIsRefused) {
  auto state = MakeTinyState(TinyOptions(), 0.0);
  LocalGroups groups({.data = 1});
  EXPECT_EQ(TransferState(Resume({Shard{0, 1}}, {{0, Shard{1, 2}}}), {.data = 1},
                          *groups.Of(0).world, *state)
                .message(),
            "the order to go names a replica that this rank did not open");
}

TEST_F(RejoinTest, AnOrderThatMistakesWhatARankHoldsIsRefused) {
  auto state = MakeTinyState(TinyOptions(), 0.0);
  LocalGroups groups({.data = 1});
  EXPECT_EQ(
      TransferState(Resume({Shard{1, 2}}), {.data = 1}, *groups.Of(0).world, *state).message(),
      "the order to go says that this rank holds shard 1 of 2, and it holds 0 of 1");
}

TEST_F(RejoinTest, ADividedStateThatDiffersIsFoundAndGivenUp) {
  const MeshShape mesh{.data = 2, .shard = 2};
  LocalGroups groups(mesh);
  std::vector<absl::Status> said(4);
  std::vector<bool> kept(4);
  std::vector<std::thread> threads;
  for (int r = 0; r < 4; ++r) {
    threads.emplace_back([&, r] {
      auto state = MakeTinyState(TinyOptions(), 0.0);
      Enter(*truth_.state->applied(), 1, *state);
      Hold(ShardOf(mesh, r), *truth_.state, *state);
      if (r == 3) state->optimizer().state(1)[0].add_(1.0);
      EXPECT_TRUE(GatherValues(*groups.Of(r).shard, *state).ok());
      said[static_cast<size_t>(r)] = CompareDigests(0, mesh, *groups.Of(r).world, *state);
      kept[static_cast<size_t>(r)] = state->applied().has_value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string unit = truth_.state->units()[1].layout().name;
  for (const absl::Status& status : said) {
    EXPECT_EQ(status.message(), "rank 3 and rank 1 differ in unit " + unit);
  }
  EXPECT_EQ(kept, (std::vector<bool>{true, true, true, false}));
}

}  // namespace
}  // namespace muster::trainer
