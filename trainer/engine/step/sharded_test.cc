// Tests, with ranks as threads, that the results do not depend on how ranks divide the state.

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "gtest/gtest.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/forwarding_communicator.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/lamb.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/muon.h"
#include "trainer/optim/sgd.h"
#include "trainer/parallel/flat_memory.h"

namespace muster::trainer {
namespace {

// With three ranks some have one micro-batch less than others.
std::vector<MeshShape> Layouts() {
  return {{.shard = 2}, {.shard = 3}, {.shard = 5}, {.data = 2, .shard = 2}};
}

// Stages 1, 2 and 3 of ZeRO divide these besides the optimizer's state.
std::vector<Division> Divisions() {
  return {{}, {.gradients = true}, {.values = true, .gradients = true}};
}

std::string Name(const MeshShape& mesh, const Division& divided) {
  return absl::StrCat(mesh.data, " x ", mesh.shard, divided.gradients ? ", gradients" : "",
                      divided.values ? ", values" : "");
}

TEST(ShardedTest, DeterministicModeIsBitwiseEqualUnderEveryDivision) {
  for (const OptimizerFactory make : {&MakeAdamW, &MakeLamb, &MakeLion, &MakeMuon, &MakeSgd}) {
    TrainingOptions options = TinyOptions();
    options.deterministic = true;
    options.optimizer.make = make;
    options.optimizer.momentum = make == &MakeSgd ? 0.9 : 0.0;
    const RankResult one = TrainTinyRanks(options, {}, 8)[0];
    EXPECT_LT(one.losses.back(), one.losses.front());
    for (const MeshShape& mesh : Layouts()) {
      for (const Division& divided : Divisions()) {
        SCOPED_TRACE(Name(mesh, divided));
        options.divided = divided;
        for (const RankResult& result : TrainTinyRanks(options, mesh, 8)) {
          EXPECT_EQ(result.losses, one.losses);
          EXPECT_EQ(result.norms, one.norms);
          EXPECT_EQ(result.validation, one.validation);
          EXPECT_EQ(result.values, one.values);
        }
      }
    }
  }
}

TEST(ShardedTest, FastModeKeepsRanksEqualAndTheCurveEqualToRounding) {
  TrainingOptions options = TinyOptions();
  const RankResult one = TrainTinyRanks(options, {}, 12)[0];
  for (const MeshShape& mesh : Layouts()) {
    for (const Division& divided : Divisions()) {
      SCOPED_TRACE(Name(mesh, divided));
      options.divided = divided;
      const std::vector<RankResult> results = TrainTinyRanks(options, mesh, 12);
      for (const RankResult& result : results) {
        EXPECT_EQ(result.values, results[0].values);
        ASSERT_EQ(result.losses.size(), one.losses.size());
        for (size_t i = 0; i < one.losses.size(); ++i) {
          EXPECT_NEAR(result.losses[i], one.losses[i], 1e-4 * one.losses[i]);
          EXPECT_NEAR(result.norms[i], one.norms[i], 1e-3 * one.norms[i]);
        }
        EXPECT_NEAR(result.validation, one.validation, 1e-4 * one.validation);
      }
    }
  }
}

// Notes the most units that have whole values or whole gradients at once, as seen whenever its rank
// begins a collective.
class WatchingCommunicator final : public ForwardingCommunicator {
 public:
  WatchingCommunicator(Communicator& inner, const std::vector<Unit>& units)
      : ForwardingCommunicator(inner), units_(units) {}
  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view label) override {
    Look();
    return ForwardingCommunicator::AllGather(std::move(output), std::move(input), label);
  }
  std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t> output_counts,
                                     at::Tensor input, std::vector<int64_t> input_counts,
                                     std::string_view label) override {
    Look();
    return ForwardingCommunicator::AllToAllV(std::move(output), std::move(output_counts),
                                             std::move(input), std::move(input_counts), label);
  }
  int64_t values = 0, gradients = 0;

 private:
  void Look() {
    int64_t with_values = 0, with_gradients = 0;
    for (const Unit& unit : units_) {
      with_values += HasMemory(unit.values());
      with_gradients += HasMemory(unit.gradients());
    }
    values = std::max(values, with_values);
    gradients = std::max(gradients, with_gradients);
  }

  const std::vector<Unit>& units_;
};

TEST(ShardedTest, DividedUnitsAreWholeOnlyWhileTheyAreInUse) {
  TrainingOptions options = TinyOptions();
  options.divided = {.values = true, .gradients = true};
  planner::ModelShape model = TinyModel(0.1);
  model.layers = 6;
  LocalGroups groups({.shard = 2});
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      const std::atomic<bool> interrupt = false;
      PhaseTimer timer(Clock::Real(), Phase::kOther);
      const auto state = MakeState(options, model);
      EXPECT_TRUE(state->Divide({r, 2}).ok());
      EXPECT_TRUE(state->InitializeFresh().ok());
      SyntheticFeed feed(options, model.vocabulary);
      Engine engine(*state, feed, timer, interrupt);
      RoundGroups of_rank = groups.Of(r);
      WatchingCommunicator watching(*of_rank.shard, state->units());
      of_rank.shard = &watching;
      EXPECT_TRUE(engine.BeginAlone(of_rank).ok());
      for (int step = 0; step < 3; ++step) EXPECT_TRUE(engine.Step({}).ok());
      // The shared embedding's own unit, the block that runs and the next; for gradients that, and
      // two that are being exchanged.
      EXPECT_GE(watching.values, 2);
      EXPECT_LE(watching.values, 4);
      EXPECT_GE(watching.gradients, 2);
      EXPECT_LE(watching.gradients, 4);
      for (const Unit& unit : state->units()) {
        EXPECT_FALSE(HasMemory(unit.values())) << unit.layout().name;
        EXPECT_FALSE(HasMemory(unit.gradients())) << unit.layout().name;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Counts the elements that its rank adds up with others.
class CountingCommunicator final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                     std::string_view label) override {
    elements += tensor.numel();
    return ForwardingCommunicator::AllReduce(std::move(tensor), op, label);
  }
  int64_t elements = 0;
};

// The link between copies is the slow one: there all ranks of a copy together send the model once.
TEST(ShardedTest, OnlyAShareOfEveryGradientIsAddedUpBetweenCopies) {
  const MeshShape mesh{.data = 2, .shard = 2};
  LocalGroups groups(mesh);
  std::vector<int64_t> between(4);
  std::vector<std::thread> threads;
  for (int r = 0; r < 4; ++r) {
    threads.emplace_back([&, r] {
      RoundGroups of_rank = groups.Of(r);
      CountingCommunicator counting(*of_rank.replicas);
      of_rank.replicas = &counting;
      const auto state = MakeTinyState(TinyOptions(), 0.1);
      EXPECT_TRUE(state->Divide(PlaceOf(mesh, r).shard).ok());
      EXPECT_TRUE(state->InitializeFresh().ok());
      EXPECT_EQ(TrainRank(*state, TinyModel(0.1).vocabulary, 3, of_rank).losses.size(), 3u);
      between[static_cast<size_t>(r)] = counting.elements;
    });
  }
  for (std::thread& thread : threads) thread.join();
  int64_t model = 0;
  const auto state = MakeTinyState(TinyOptions(), 0.1);
  for (const Unit& unit : state->units()) model += unit.layout().elements;
  EXPECT_EQ(between[0] + between[1], 3 * model) << "of the first copy, in 3 steps";
  EXPECT_EQ(between[2] + between[3], 3 * model);
}

TEST(ShardedTest, RanksHoldEqualPartsOfTheOptimizersState) {
  const size_t whole = TrainTinyRanks(TinyOptions(), {}, 1)[0].optimizer_bytes;
  size_t sum = 0;
  for (const RankResult& result : TrainTinyRanks(TinyOptions(), {.shard = 3}, 1)) {
    sum += result.optimizer_bytes;
    // Slices are whole chunks, and the model has a few per unit.
    EXPECT_LT(result.optimizer_bytes, whole / 2);
  }
  EXPECT_EQ(sum, whole);
}

TEST(ShardedTest, AStateOfAnotherShardThanTheRoundsIsRefused) {
  const TrainingOptions options = TinyOptions();
  LocalGroups groups({.shard = 2});
  const std::atomic<bool> interrupt = false;
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  auto state = MakeTinyState(options, 0.0);
  SyntheticFeed feed(options, 61);
  Engine engine(*state, feed, timer, interrupt);
  EXPECT_EQ(engine.BeginAlone(groups.Of(1)).message(),
            "the round needs shard 1 of 2 of the state, and this rank holds 0 of 1");
}

// Breaks off at the first operation that moves slices once `breaks` says so.
class BrokenGathers final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view label) override {
    Break(output);
    return ForwardingCommunicator::AllGather(std::move(output), std::move(input), label);
  }
  std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t> output_counts,
                                     at::Tensor input, std::vector<int64_t> input_counts,
                                     std::string_view label) override {
    Break(output);
    return ForwardingCommunicator::AllToAllV(std::move(output), std::move(output_counts),
                                             std::move(input), std::move(input_counts), label);
  }
  std::function<bool()> breaks = [] { return true; };
  // An aborted operation keeps its tensors, and may write to them for a while.
  std::vector<at::Tensor> written;

 private:
  void Break(const at::Tensor& output) {
    if (!breaks()) return;
    Abort("a peer is gone");
    written.push_back(output);
  }
};

TEST(ShardedTest, AStepThatIsAppliedHasItsOutcomeThoughTheGatherAfterItBreaks) {
  const MeshShape mesh{.shard = 2};
  const std::vector<RankResult> calm = TrainTinyRanks(TinyOptions(), mesh, 1);
  LocalGroups groups(mesh);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      auto state = MakeTinyState(TinyOptions(), 0.1);
      ASSERT_TRUE(state->Divide(PlaceOf(mesh, r).shard).ok());
      ASSERT_TRUE(state->InitializeFresh().ok());
      const std::atomic<bool> interrupt = false;
      PhaseTimer timer(Clock::Real(), Phase::kOther);
      SyntheticFeed feed(state->options(), TinyModel(0.1).vocabulary);
      Engine engine(*state, feed, timer, interrupt);
      RoundGroups of_rank = groups.Of(r);
      BrokenGathers broken(*of_rank.shard);
      broken.breaks = [&] { return state->applied()->step() == 1; };
      of_rank.shard = &broken;
      ASSERT_TRUE(engine.BeginAlone(of_rank).ok());
      const auto outcome = engine.Step({});
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      EXPECT_FALSE(outcome->after.ok()) << "the values were not gathered";
      EXPECT_EQ(state->applied()->step(), 1);
      EXPECT_EQ(outcome->decision.version().step(), 1);
      EXPECT_EQ(outcome->decision.loss(), calm[static_cast<size_t>(r)].losses[0]);
      engine.EndRound();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ShardedTest, ValuesThatAnAbortedGatherMayStillWriteComeToOtherMemoryInTheNextRound) {
  const MeshShape mesh{.shard = 2};
  TrainingOptions options = TinyOptions();
  options.divided = {.values = true, .gradients = true};
  LocalGroups groups(mesh);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      auto state = MakeTinyState(options, 0.1);
      ASSERT_TRUE(state->Divide(PlaceOf(mesh, r).shard).ok());
      ASSERT_TRUE(state->InitializeFresh().ok());
      const std::atomic<bool> interrupt = false;
      PhaseTimer timer(Clock::Real(), Phase::kOther);
      SyntheticFeed feed(options, TinyModel(0.1).vocabulary);
      Engine engine(*state, feed, timer, interrupt);
      RoundGroups of_rank = groups.Of(r);
      BrokenGathers broken(*of_rank.shard);
      of_rank.shard = &broken;
      ASSERT_TRUE(engine.BeginAlone(of_rank).ok());
      EXPECT_FALSE(engine.Step({}).ok());
      engine.EndRound();
      ASSERT_FALSE(broken.written.empty());
      for (const Unit& unit : state->units()) {
        unit.AllocateValues();
        for (const at::Tensor& late : broken.written) {
          EXPECT_NE(unit.values().const_data_ptr(), late.const_data_ptr());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace muster::trainer
