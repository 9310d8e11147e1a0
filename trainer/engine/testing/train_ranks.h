#ifndef MUSTER_TRAINER_ENGINE_TESTING_TRAIN_RANKS_H_
#define MUSTER_TRAINER_ENGINE_TESTING_TRAIN_RANKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "gtest/gtest.h"
#include "planner/model_shape.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/link/round_groups.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/kernels/kernels.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/offload/state_file.h"
#include "trainer/parallel/flat_memory.h"

namespace muster::trainer {

// The numbers that a rank saw of a run, and digests of what it holds at its end.
struct RankResult {
  std::vector<double> losses, norms;
  std::vector<v1alpha1::StepDecision> decisions;
  double validation = 0.0;
  std::vector<int64_t> digest;  // TrainingState::Digest()
  // Digests of the units' values as a whole. Those that rest elsewhere are left out.
  std::vector<uint64_t> values;
  size_t optimizer_bytes = 0;
};

inline std::vector<uint64_t> DigestsOfValues(TrainingState& state, const RoundGroups& groups) {
  if (groups.shard != nullptr) {
    const absl::Status gathered = GatherValues(*groups.shard, state);
    EXPECT_TRUE(gathered.ok()) << gathered;
  }
  std::vector<uint64_t> digests;
  for (const Unit& unit : state.units()) {
    if (!HasMemory(unit.values())) continue;
    digests.push_back(KernelsOf(unit.values()).Digest(unit.values(), 0));
  }
  return digests;
}

// Returns the requests of a rank with its next step.
using Ask = std::function<StepRequests(const TrainingState&)>;

// Trains a rank whose state is initialised, and validates. After an error of a step the result has
// the steps before it only.
inline RankResult TrainRank(TrainingState& state, int64_t vocabulary, int steps,
                            const RoundGroups& groups, const Ask& ask = nullptr) {
  RankResult result;
  const std::atomic<bool> interrupt = false;
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  SyntheticFeed feed(state.options(), vocabulary);
  Engine engine(state, feed, timer, interrupt);
  EXPECT_TRUE(engine.BeginAlone(groups).ok());
  for (int i = 0; i < steps; ++i) {
    const auto outcome = engine.Step(ask ? ask(state) : StepRequests());
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    if (!outcome.ok()) return result;
    EXPECT_TRUE(outcome->after.ok()) << outcome->after;
    result.losses.push_back(outcome->decision.loss());
    result.norms.push_back(outcome->decision.gradient_norm());
    result.decisions.push_back(outcome->decision);
  }
  const auto validation = engine.Validate(5);
  EXPECT_TRUE(validation.ok()) << validation.status();
  result.validation = validation.value_or(0.0);
  const auto digest = state.Digest();
  EXPECT_TRUE(digest.ok()) << digest.status();
  if (digest.ok()) result.digest = *digest;
  result.values = DigestsOfValues(state, groups);
  for (const TensorPart& part : state.OptimizerParts()) {
    result.optimizer_bytes += part.elements.nbytes();
  }
  return result;
}

// Returns the initialised state of a rank of the layout, with its part, stage and shard of a model;
// null, with a failure of the test, if it cannot be made.
inline std::unique_ptr<TrainingState> MakeRankState(Model model, TrainingOptions options,
                                                    const MeshShape& mesh, int rank) {
  const CopyPlace place = PlaceOf(mesh, rank);
  options.parts = place.part.count;
  options.stages = place.stage.count;
  auto state = TrainingState::Create(std::move(model), options, place.shard, nullptr,
                                     place.part.index, place.stage.index);
  EXPECT_TRUE(state.ok()) << state.status();
  if (!state.ok()) return nullptr;
  EXPECT_TRUE((*state)->InitializeFresh().ok());
  return *std::move(state);
}
inline std::unique_ptr<TrainingState> MakeRankState(const planner::ModelShape& shape,
                                                    const TrainingOptions& options,
                                                    const MeshShape& mesh, int rank) {
  return MakeRankState(*MakeModel(shape), options, mesh, rank);
}

// Returns the layout and what it divides, for messages.
inline std::string NameOf(const MeshShape& mesh, const Division& divided) {
  return absl::StrCat("pipeline ", mesh.pipeline, " x ", mesh.data, " x ", mesh.shard,
                      " x context ", mesh.context, " x tensor ", mesh.tensor,
                      divided.gradients ? ", gradients" : "", divided.values ? ", values" : "");
}

// Makes the state of a rank, which holds the rank's shard and is initialised.
using StateMaker = std::function<std::unique_ptr<TrainingState>(int rank)>;

// Trains on every rank of the layout, which are threads; returns the results of each.
inline std::vector<RankResult> TrainRanks(const MeshShape& mesh, int64_t vocabulary, int steps,
                                          const StateMaker& make, LocalGroups::Wrap wrap = nullptr,
                                          const Ask& ask = nullptr) {
  LocalGroups groups(mesh, wrap);
  std::vector<RankResult> results(static_cast<size_t>(mesh.size()));
  std::vector<std::thread> threads;
  for (int r = 0; r < mesh.size(); ++r) {
    threads.emplace_back([&, r] {
      const std::unique_ptr<TrainingState> state = make(r);
      ASSERT_NE(state, nullptr);
      results[static_cast<size_t>(r)] = TrainRank(*state, vocabulary, steps, groups.Of(r), ask);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

// How ranks share the work and the state of a run.
struct RankLayout {
  MeshShape mesh;
  Division divided;
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
};

// Returns the options of a run under the layout.
inline TrainingOptions OptionsUnder(const RankLayout& layout, TrainingOptions options) {
  options.divided = layout.divided;
  options.pipeline_schedule = layout.schedule;
  return options;
}

// Trains tiny models with dropout under the layout.
inline std::vector<RankResult> TrainLayout(const RankLayout& layout, const TrainingOptions& options,
                                           int steps, const Ask& ask = nullptr) {
  const TrainingOptions under = OptionsUnder(layout, options);
  return TrainRanks(
      layout.mesh, TinyModel(0.1).vocabulary, steps,
      [&](int rank) { return MakeRankState(TinyModel(0.1), under, layout.mesh, rank); }, nullptr,
      ask);
}

// Trains tiny models with dropout. `files_of` names a rank's disk, for state that rests in files.
inline std::vector<RankResult> TrainTinyRanks(
    const TrainingOptions& options, const MeshShape& mesh, int steps,
    const std::function<StateFiles*(int rank)>& files_of = [](int) { return nullptr; }) {
  return TrainRanks(mesh, TinyModel(0.1).vocabulary, steps, [&](int rank) {
    auto state = MakeTinyState(options, 0.1, files_of(rank));
    EXPECT_TRUE(state->Divide(PlaceOf(mesh, rank).shard).ok());
    EXPECT_TRUE(state->InitializeFresh().ok());
    return state;
  });
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TESTING_TRAIN_RANKS_H_
