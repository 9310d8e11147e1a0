#ifndef MUSTER_TRAINER_ENGINE_TESTING_REJOIN_FIXTURE_H_
#define MUSTER_TRAINER_ENGINE_TESTING_REJOIN_FIXTURE_H_

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "ATen/ops/equal.h"
#include "gtest/gtest.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/commit/held_places.h"
#include "trainer/commit/judge_item.h"
#include "trainer/engine/store/compare_digests.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/offload/memory_state_files.h"
#include "trainer/parallel/slices.h"
#include "trainer/parallel/unit_layout.h"

// The states of ranks that run as threads, which come to other slices of one truth. Of a model that
// a tensor axis divides there is a truth for each part.
namespace muster::trainer {

inline TrainingOptions Dividing(const Division& divided, const OffloadOptions& offload = {}) {
  TrainingOptions options = TinyOptions();
  options.divided = divided;
  options.offload = offload;
  return options;
}

// Makes a state hold `shard` of `truth`, whose every other value is not a number.
inline void Hold(const Shard& shard, const TrainingState& truth, TrainingState& state) {
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

inline bool Holds(const Shard& shard, const TrainingState& truth, const TrainingState& state) {
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
inline void Enter(const v1alpha1::Version& version, int64_t round, TrainingState& state) {
  v1alpha1::RoundId id;
  id.set_round(round);
  ASSERT_TRUE(state.commit().Prepare(id).ok());
  v1alpha1::ResumePoint fresh;
  fresh.set_source(v1alpha1::ResumePoint::FRESH);
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
  int part = 0;  // of the model
};

class RejoinTest : public testing::Test {
 protected:
  RejoinTest() { truth_.Losses(2); }

  // Returns all of what ranks of that part and that stage of a model hold.
  const TrainingState& TruthOf(const ModelPart& part, const ModelStage& stage = {}) {
    if (part.count == 1 && stage.count == 1) return *truth_.state;
    std::unique_ptr<TrainingState>& truth =
        truths_[{part.index, part.count, stage.index, stage.count}];
    if (truth != nullptr) return *truth;
    TrainingOptions options = TinyOptions();
    options.parts = part.count;
    options.stages = stage.count;
    truth = MakeTinyState(options, 0.0, nullptr, part.index, stage.index);
    for (size_t u = 0; u < truth->units().size(); ++u) {
      double factor = 2.0;
      for (at::Tensor& state : truth->optimizer().state(static_cast<int>(u))) {
        state.copy_(truth->units()[u].held().values).mul_(factor);
        factor += 1.0;
      }
    }
    truth->set_counts(truth_.state->counts());
    return *truth;
  }
  // `held` is of the model's part that a rank has in rounds with `parts` of them, and of the stage
  // that `stage_of` says.
  v1alpha1::ResumePoint Resume(
      const std::vector<std::optional<Shard>>& held, const std::vector<Replica>& replicas = {},
      int parts = 1,
      const std::function<ModelStage(int rank)>& stage_of = [](int) { return ModelStage(); }) {
    v1alpha1::ResumePoint resume;
    resume.set_source(v1alpha1::ResumePoint::LIVE);
    *resume.mutable_version() = *truth_.state->applied();
    resume.set_donor(-1);
    for (int r = 0; r < static_cast<int>(held.size()); ++r) {
      const auto& shard = held[static_cast<size_t>(r)];
      const ModelPart part = {r % parts, parts};
      *resume.add_slices() = shard ? ToSlice({part, *shard, stage_of(r)}) : v1alpha1::StateSlice();
      if (!shard) {
        resume.add_receivers(r);
        continue;
      }
      if (resume.donor() < 0) resume.set_donor(r);
    }
    for (const Replica& replica : replicas) {
      v1alpha1::ReplicaSource& source = *resume.add_replicas();
      source.set_rank(replica.rank);
      *source.mutable_slice() = ToSlice({{replica.part, parts}, replica.shard});
    }
    return resume;
  }
  // Returns what `rank` reads of the replicas.
  StoredSlices Stored(const std::vector<Replica>& replicas, int rank, int parts) {
    StoredSlices stored;
    for (const Replica& replica : replicas) {
      stored.emplace_back();
      if (replica.rank != rank) continue;
      stored.back() = std::make_unique<StoredTruth>(TruthOf({replica.part, parts}), replica.shard);
    }
    return stored;
  }

  // Returns the bytes of the values and the optimizer's state that a rank with this shard holds.
  int64_t BytesOf(const Shard& shard) const {
    const TrainingState& state = *truth_.state;
    const auto tensors = static_cast<int64_t>(1 + state.optimizer().state_names().size());
    int64_t bytes = 0;
    for (const Unit& unit : state.units()) {
      const auto element = static_cast<int64_t>(unit.held().values.element_size());
      const int64_t chunks = SliceOf(unit.layout().chunks(), shard).leaves();
      bytes += tensors * chunks * kChunkElements * element;
    }
    return bytes;
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
    return Move(held, mesh, before, after, replicas, [&](int r) { return PlaceOf(mesh, r).stage; });
  }
  // Does the same with ranks that held `held` of the stages that `stage_of` says.
  std::vector<absl::Status> Move(const std::vector<std::optional<Shard>>& held,
                                 const MeshShape& mesh, TrainingOptions before,
                                 TrainingOptions after, const std::vector<Replica>& replicas,
                                 const std::function<ModelStage(int rank)>& stage_of) {
    before.parts = after.parts = mesh.tensor;
    before.stages = after.stages = mesh.pipeline;
    for (int r = 0; r < mesh.size(); ++r) {
      TruthOf(PlaceOf(mesh, r).part, PlaceOf(mesh, r).stage);
      TruthOf(PlaceOf(mesh, r).part, stage_of(r));
    }
    const v1alpha1::ResumePoint resume = Resume(held, replicas, mesh.tensor, stage_of);
    LocalGroups groups(mesh);
    std::vector<std::unique_ptr<Communicator>> alone;
    for (size_t r = 0; r < held.size(); ++r) {
      alone.push_back(std::move(MakeLocalCommunicators({})[0]));
    }
    std::vector<absl::Status> said(held.size());
    received_.assign(held.size(), -1);
    std::vector<std::thread> threads;
    for (int r = 0; r < mesh.size(); ++r) {
      threads.emplace_back([&, r] {
        const auto rank = static_cast<size_t>(r);
        const CopyPlace place = PlaceOf(mesh, r);
        const TrainingState& truth = TruthOf(place.part, place.stage);
        auto state = MakeTinyState(before, 0.0, &disk_, place.part.index, stage_of(r).index);
        Enter(*truth_.state->applied(), 1, *state);
        if (held[rank]) Hold(*held[rank], TruthOf(place.part, stage_of(r)), *state);
        EXPECT_TRUE(state->Configure(after).ok());
        const RoundGroups of_rank = groups.Of(r);
        const auto received =
            TransferState(resume, mesh, *of_rank.world, *state, Stored(replicas, r, mesh.tensor));
        said[rank] = received.status();
        if (!received.ok()) return;
        received_[rank] = *received;
        Communicator& shard = of_rank.shard == nullptr ? *alone[rank] : *of_rank.shard;
        said[rank] = GatherValues(shard, *state);
        if (!said[rank].ok()) return;
        said[rank] =
            CompareDigests(resume, mesh, *of_rank.world, *state, [] { return Proof::kNone; });
        if (said[rank].ok() && !Holds(PlaceOf(mesh, r).shard, truth, *state)) {
          said[rank] = absl::InternalError("holds something else");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return said;
  }

  MemoryStateFiles disk_;
  std::vector<int64_t> received_;  // bytes by rank, in the last move; -1: it failed
  SoloEngine truth_{TinyOptions()};
  std::map<std::tuple<int, int, int, int>, std::unique_ptr<TrainingState>> truths_;  // by place
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TESTING_REJOIN_FIXTURE_H_
