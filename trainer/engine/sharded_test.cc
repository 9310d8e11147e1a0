// Tests, with ranks as threads, that the results do not depend on how ranks divide the state.

#include <atomic>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "gtest/gtest.h"
#include "trainer/engine/engine.h"
#include "trainer/engine/phase_timer.h"
#include "trainer/engine/rejoin.h"
#include "trainer/engine/testing/forwarding_communicator.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/synthetic_feed.h"

namespace muster::trainer {
namespace {

struct Result {
  std::vector<double> losses, norms;
  double validation = 0.0;
  std::vector<int64_t> values;  // the digests of the units' values
  size_t optimizer_bytes = 0;
};

Result TrainRank(const TrainingOptions& options, const MeshShape& mesh, int rank, int steps,
                 const RoundGroups& groups) {
  Result result;
  const std::atomic<bool> interrupt = false;
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  auto state = MakeTinyState(options, 0.1);
  state->Divide(ShardOf(mesh, rank));
  SyntheticFeed feed(options, TinyModel(0.1).vocabulary);
  Engine engine(*state, feed, timer, interrupt);
  EXPECT_TRUE(engine.BeginAlone(groups).ok());
  for (int i = 0; i < steps; ++i) {
    auto outcome = engine.Step({});
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    if (!outcome.ok()) return result;
    result.losses.push_back(outcome->decision.loss());
    result.norms.push_back(outcome->decision.gradient_norm());
  }
  auto validation = engine.Validate(5);
  EXPECT_TRUE(validation.ok()) << validation.status();
  result.validation = validation.value_or(0.0);
  result.values = state->Digest();
  result.values.resize(state->units().size());
  for (const TensorPart& part : state->OptimizerParts()) {
    result.optimizer_bytes += part.elements.nbytes();
  }
  return result;
}

// Trains on every rank of the layout; returns the results of each.
std::vector<Result> Train(const TrainingOptions& options, const MeshShape& mesh, int steps) {
  LocalGroups groups(mesh);
  std::vector<Result> results(static_cast<size_t>(mesh.size()));
  std::vector<std::thread> threads;
  for (int r = 0; r < mesh.size(); ++r) {
    threads.emplace_back([&, r] {
      results[static_cast<size_t>(r)] = TrainRank(options, mesh, r, steps, groups.Of(r));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

std::vector<MeshShape> Layouts() {
  return {{.shard = 2}, {.shard = 3}, {.shard = 5}, {.data = 2, .shard = 2}};
}

TEST(ShardedTest, DeterministicModeIsBitwiseEqualUnderEveryDivision) {
  for (const OptimizerOptions::Kind kind :
       {OptimizerOptions::Kind::kAdamW, OptimizerOptions::Kind::kSgd}) {
    TrainingOptions options = TinyOptions();
    options.deterministic = true;
    options.optimizer.kind = kind;
    options.optimizer.momentum = kind == OptimizerOptions::Kind::kSgd ? 0.9 : 0.0;
    const Result one = Train(options, {}, 8)[0];
    EXPECT_LT(one.losses.back(), one.losses.front());
    for (const MeshShape& mesh : Layouts()) {
      for (const Result& result : Train(options, mesh, 8)) {
        EXPECT_EQ(result.losses, one.losses) << mesh.data << " x " << mesh.shard;
        EXPECT_EQ(result.norms, one.norms) << mesh.data << " x " << mesh.shard;
        EXPECT_EQ(result.validation, one.validation);
        EXPECT_EQ(result.values, one.values) << mesh.data << " x " << mesh.shard;
      }
    }
  }
}

TEST(ShardedTest, FastModeKeepsRanksEqualAndTheCurveEqualToRounding) {
  const TrainingOptions options = TinyOptions();
  const Result one = Train(options, {}, 12)[0];
  for (const MeshShape& mesh : Layouts()) {
    const std::vector<Result> results = Train(options, mesh, 12);
    for (const Result& result : results) {
      EXPECT_EQ(result.values, results[0].values);
      ASSERT_EQ(result.losses.size(), one.losses.size());
      for (size_t i = 0; i < one.losses.size(); ++i) {
        EXPECT_NEAR(result.losses[i], one.losses[i], 1e-4 * one.losses[i]);
        EXPECT_NEAR(result.norms[i], one.norms[i], 1e-3 * one.norms[i]);
      }
    }
  }
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
      EXPECT_EQ(TrainRank(TinyOptions(), mesh, r, 3, of_rank).losses.size(), 3u);
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
  const size_t whole = Train(TinyOptions(), {}, 1)[0].optimizer_bytes;
  size_t sum = 0;
  for (const Result& result : Train(TinyOptions(), {.shard = 3}, 1)) {
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

}  // namespace
}  // namespace muster::trainer
