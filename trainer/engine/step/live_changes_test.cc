// Tests what changes a run while it trains: the job's tunings, and spikes that are skipped. All
// ranks of every layout act at the same step, and ranks that take over a state take it over with
// it.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/commit/spike_watch.h"
#include "trainer/commit/tunings.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/loud_model.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/model/block.h"
#include "trainer/optim/muon.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/schedule.h"

namespace muster::trainer {
namespace {

std::vector<RankLayout> Layouts() {
  return {{{.data = 2}, {}},
          {{.shard = 3}, {.values = true, .gradients = true}},
          {{.tensor = 2}, {}},
          {{.context = 2}, {}},
          {{.pipeline = 2}, {}, PipelineSchedule::kZeroBubble},
          {{.pipeline = 2, .shard = 2, .tensor = 2}, {.values = true, .gradients = true}}};
}

// The job's tunings of these tests: a tenth of the rate from step 4 on, and a tight clip from 6 on.
const std::vector<Tuning> kOfJob = {{.step = 4, .learning_rate = 3e-4},
                                    {.step = 6, .clip_norm = 0.01}};

StepRequests AskForTunings(const TrainingState& state) {
  return {.tuning = NextTuning(kOfJob, state.counts().tunings.size(), state.applied()->step() + 2)};
}

double RateOfReference(const Schedule& schedule, int64_t step) {
  return step < 4 ? schedule.peak : 0.1 * schedule.peak;
}

TEST(LiveChangesTest, ATunedRunIsTheOneWhoseScheduleHadTheRatesFromTheStart) {
  TrainingOptions options = TinyOptions();
  options.deterministic = true;
  options.schedule = {.rate = &ConstantRate, .peak = 3e-3};
  options.clip_norm = 0.0;
  TrainingOptions planned = options;
  planned.schedule.rate = &RateOfReference;
  const RankResult want = TrainLayout({}, planned, 5, nullptr)[0];
  for (const bool divided : {false, true}) {
    for (int world = 1; world <= 3; ++world) {
      const RankLayout layout = {divided ? MeshShape{.shard = world} : MeshShape{.data = world},
                                 {.values = divided, .gradients = divided}};
      for (const RankResult& rank : TrainLayout(layout, options, 5, AskForTunings)) {
        EXPECT_EQ(rank.losses, want.losses) << world;
        EXPECT_EQ(rank.norms, want.norms) << world;
        EXPECT_EQ(rank.values, want.values) << world;
      }
    }
  }
}

TEST(LiveChangesTest, EveryLayoutPutsATuningIntoForceAtItsStep) {
  TrainingOptions options = TinyOptions();
  for (const OptimizerFactory make : {TinyOptions().optimizer.make, &MakeMuon}) {
    options.optimizer.make = make;
    const RankResult one = TrainLayout({}, options, 7, AskForTunings)[0];
    for (const RankLayout& layout : Layouts()) {
      SCOPED_TRACE(NameOf(layout.mesh, layout.divided));
      for (const RankResult& rank : TrainLayout(layout, options, 7, AskForTunings)) {
        ASSERT_EQ(rank.decisions.size(), 7u);
        for (size_t i = 0; i < 7; ++i) {
          const v1alpha1::StepDecision& decision = rank.decisions[i];
          EXPECT_EQ(decision.has_tuning(), i == 2 || i == 4) << i;
          EXPECT_TRUE(std::abs(rank.losses[i] - one.losses[i]) <= 1e-4 * one.losses[i]) << i;
          if (i >= 5) EXPECT_TRUE(decision.clip_factor() < 0.1) << decision.clip_factor();
        }
        EXPECT_EQ(rank.decisions[2].tuning().step(), 4);
        EXPECT_EQ(rank.decisions[4].tuning().step(), 6);
      }
    }
  }
}

TEST(LiveChangesTest, ATuningWaitsUntilTheLastRankKnowsOfIt) {
  const Tuning tuning = {.learning_rate = 1.0};
  const LocalGroups groups({.data = 2});
  std::vector<RankResult> results(2);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      const auto state = MakeTinyState(TinyOptions(), 0.0);
      results[r] = TrainRank(*state, TinyModel(0.0).vocabulary, 5, groups.Of(r),
                             [&, r](const TrainingState& of_rank) -> StepRequests {
                               const int64_t next = of_rank.applied()->step() + 2;
                               if (r == 1 && next < 5) return {};
                               return {.tuning = NextTuning(std::vector{tuning},
                                                            of_rank.counts().tunings.size(), next)};
                             });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const RankResult& rank : results) {
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(rank.decisions[i].has_tuning(), i == 3) << i;
    EXPECT_EQ(rank.decisions[3].tuning().step(), 5);
  }
}

// Only the vote that all ranks have seen counts, so that the tuning comes with a relayed decision.
TEST(LiveChangesTest, ARankThatLostTheVoteGetsTheTuningWithTheDecision) {
  SoloEngine cut(TinyOptions(), 0.1), calm(TinyOptions(), 0.1);
  cut.communicator->Abort("test");
  const StepRequests asks = {.tuning = Tuning{.step = 2, .learning_rate = 0.5, .clip_norm = 3.0}};
  EXPECT_FALSE(cut.engine.Step(asks).ok());
  EXPECT_TRUE(cut.state->counts().tunings.empty());
  const auto outcome = calm.engine.Step(asks);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  cut.communicator = std::move(MakeLocalCommunicators({})[0]);
  cut.GoOn(outcome->decision);
  EXPECT_EQ(cut.state->counts().tunings, std::vector{*asks.tuning});
  EXPECT_EQ(cut.state->counts(), calm.state->counts());
  ExpectEqualState(*cut.state, *calm.state);
  EXPECT_EQ(cut.Step().learning_rate, calm.Step().learning_rate);
  ExpectEqualState(*cut.state, *calm.state);
}

constexpr int64_t kSpike = 20;

std::vector<RankResult> TrainSpiky(const RankLayout& layout, TrainingOptions options) {
  options = OptionsUnder(layout, std::move(options));
  options.watch = {.response = SpikeResponse::kLowerRate};
  const Loudness loudness = [](const MicroBatchContext& context) {
    return context.training && context.step == kSpike ? 8.0 : 1.0;
  };
  return TrainRanks(layout.mesh, TinyModel(0.1).vocabulary, kSpike + 2,
                    [&](int rank) { return MakeLoudRank(options, loudness, layout.mesh, rank); });
}

TEST(LiveChangesTest, ASpikeIsSkippedByEveryRankOfEachLayout) {
  const RankResult one = TrainSpiky({}, TinyOptions())[0];
  for (const RankLayout& layout : Layouts()) {
    SCOPED_TRACE(NameOf(layout.mesh, layout.divided));
    for (const RankResult& rank : TrainSpiky(layout, TinyOptions())) {
      ASSERT_EQ(rank.decisions.size(), static_cast<size_t>(kSpike) + 2);
      for (size_t i = 0; i < rank.decisions.size(); ++i) {
        const bool spike = i + 1 == kSpike;
        EXPECT_EQ(rank.decisions[i].apply(), !spike) << i;
        EXPECT_EQ(rank.decisions[i].spike().empty(), !spike) << rank.decisions[i].spike();
        EXPECT_EQ(rank.decisions[i].rate_factor(), i + 1 < kSpike ? 1.0 : 0.5);
        EXPECT_TRUE(std::abs(rank.losses[i] - one.losses[i]) <= 1e-4 * one.losses[i]) << i;
      }
    }
  }
}

TEST(LiveChangesTest, DeterministicModeSkipsTheSameSpikeWithTheSameBits) {
  TrainingOptions options = TinyOptions();
  options.deterministic = true;
  const RankResult one = TrainSpiky({}, options)[0];
  for (const RankLayout& layout :
       {RankLayout{{.data = 3}, {}}, RankLayout{{.shard = 2}, {.values = true}}}) {
    for (const RankResult& rank : TrainSpiky(layout, options)) {
      EXPECT_EQ(rank.losses, one.losses);
      EXPECT_EQ(rank.norms, one.norms);
      EXPECT_EQ(rank.values, one.values);
    }
  }
}

}  // namespace
}  // namespace muster::trainer
