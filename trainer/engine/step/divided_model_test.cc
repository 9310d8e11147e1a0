// Tests, with ranks as threads, that a model trains as on one rank when a tensor axis, the stages
// of a pipeline or a context axis divide its work.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/ops/full.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/model_shape.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/model/partition.h"
#include "trainer/model/sequence_order.h"

namespace muster::trainer {
namespace {

using planner::ModelFamily;
using testing::HasSubstr;

planner::ModelShape Shape(ModelFamily family) {
  planner::ModelShape shape = {.family = family,
                               .layers = 3,
                               .heads = 4,
                               .width = 32,
                               .positions = 16,
                               .vocabulary = 61,  // which no number of ranks divides
                               .dropout = 0.1};
  if (family == ModelFamily::kLlama) {
    shape.key_value_heads = 2;
    shape.feed_forward_width = 48;
    shape.tied_head = false;
  }
  return shape;
}

TrainingOptions Options() {
  TrainingOptions options = TinyOptions();
  options.types.parameters = options.types.compute = at::kDouble;
  return options;
}

// The tensors of a model as a whole, flat, put together of the parts that ranks have.
class Whole {
 public:
  void Add(const TrainingState& state, const std::vector<NamedTensor>& tensors) {
    size_t i = 0;
    for (const Unit& unit : state.units()) {
      for (const UnitTensor& tensor : unit.layout().tensors) {
        Add(tensor, state.part(), tensors.at(i++).tensor.reshape({-1}));
      }
    }
  }
  const std::map<std::string, at::Tensor>& tensors() const { return tensors_; }

 private:
  void Add(const UnitTensor& tensor, ModelPart part, const at::Tensor& elements) {
    int64_t size = 1;
    for (const int64_t d : tensor.spec.shape) size *= d;
    const auto found =
        tensors_.try_emplace(tensor.spec.name, at::full({size}, std::nan(""), at::kDouble)).first;
    int64_t at = 0;
    for (const ElementRun& run : RunsOfPart(tensor.spec.shape, tensor.spec.partition, part)) {
      found->second.narrow(0, run.begin, run.count).copy_(elements.narrow(0, at, run.count));
      at += run.count;
    }
    EXPECT_EQ(at, elements.numel()) << tensor.spec.name;
  }
  std::map<std::string, at::Tensor> tensors_;
};

// Returns the gradients of the first step, as a whole.
std::map<std::string, at::Tensor> Gradients(const planner::ModelShape& shape,
                                            const TrainingOptions& options, const MeshShape& mesh) {
  LocalGroups groups(mesh);
  std::vector<std::unique_ptr<TrainingState>> states(static_cast<size_t>(mesh.size()));
  std::vector<std::thread> threads;
  for (int r = 0; r < mesh.size(); ++r) {
    threads.emplace_back([&, r] {
      states[static_cast<size_t>(r)] = MakeRankState(shape, options, mesh, r);
      TrainingState& state = *states[static_cast<size_t>(r)];
      const std::atomic<bool> interrupt = false;
      PhaseTimer timer(Clock::Real(), Phase::kOther);
      SyntheticFeed feed(options, shape.vocabulary);
      Engine engine(state, feed, timer, interrupt);
      const RoundGroups of_rank = groups.Of(r);
      const absl::Status begun = engine.BeginAlone(of_rank);
      ASSERT_TRUE(begun.ok()) << begun;
      const absl::Status computed = engine.ComputeGradients();
      EXPECT_TRUE(computed.ok()) << computed;
    });
  }
  for (std::thread& thread : threads) thread.join();
  Whole whole;
  for (const auto& state : states) whole.Add(*state, state->Gradients());
  return whole.tensors();
}

void ExpectNear(const std::map<std::string, at::Tensor>& got,
                const std::map<std::string, at::Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, tensor] : want) {
    const double error = got.at(name).sub(tensor).abs().max().item<double>();
    const double scale = tensor.abs().max().item<double>();
    EXPECT_TRUE(error <= 1e-10 * scale) << name << ": " << error << " of " << scale;
  }
}

std::string Name(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::kAllForwardFirst ? "all forward first"
         : schedule == PipelineSchedule::kZeroBubble    ? "zero bubble"
         : schedule == PipelineSchedule::kInterleaved   ? "interleaved"
         : schedule == PipelineSchedule::kZeroBubbleV   ? "zero bubble of folded stages"
                                                        : "1F1B";
}

std::string Name(ContextExchange exchange) {
  return exchange == ContextExchange::kRing ? " in a ring" : " by heads";
}

constexpr ContextExchange kExchanges[] = {ContextExchange::kHeads, ContextExchange::kRing};
constexpr PipelineSchedule kSchedules[] = {
    PipelineSchedule::kOneForwardOneBackward, PipelineSchedule::kAllForwardFirst,
    PipelineSchedule::kZeroBubble, PipelineSchedule::kInterleaved, PipelineSchedule::kZeroBubbleV};

class DividedModelTest : public testing::TestWithParam<ModelFamily> {};

TEST_P(DividedModelTest, EveryGradientIsThatOfOneRank) {
  const planner::ModelShape shape = Shape(GetParam());
  for (const bool deterministic : {false, true}) {
    TrainingOptions options = Options();
    options.deterministic = deterministic;
    const auto one = Gradients(shape, options, {});
    for (const MeshShape& mesh : {MeshShape{.tensor = 2}, MeshShape{.data = 2, .tensor = 2},
                                  MeshShape{.shard = 3, .tensor = 2}}) {
      SCOPED_TRACE(NameOf(mesh, {}));
      ExpectNear(Gradients(shape, options, mesh), one);
    }
    for (const PipelineSchedule schedule : kSchedules) {
      options.pipeline_schedule = schedule;
      options.chunks = FewestChunks(schedule);
      for (const MeshShape& mesh :
           {MeshShape{.pipeline = 2}, MeshShape{.pipeline = 5}, MeshShape{.pipeline = 3, .data = 2},
            MeshShape{.pipeline = 2, .shard = 3},
            MeshShape{.pipeline = 2, .data = 2, .tensor = 2}}) {
        // A chunk has at least one of the model's five blocks.
        if (mesh.pipeline * options.chunks > 5) continue;
        SCOPED_TRACE(NameOf(mesh, {}) + Name(schedule));
        ExpectNear(Gradients(shape, options, mesh), one);
      }
    }
    options.chunks = 1;
    options.pipeline_schedule = PipelineSchedule::kZeroBubble;
    for (const ContextExchange exchange : kExchanges) {
      options.context_exchange = exchange;
      for (const MeshShape& mesh :
           {MeshShape{.context = 2}, MeshShape{.context = 4}, MeshShape{.data = 2, .context = 2},
            MeshShape{.shard = 3, .context = 2}, MeshShape{.context = 2, .tensor = 2},
            MeshShape{.pipeline = 2, .shard = 2, .context = 2, .tensor = 2}}) {
        SCOPED_TRACE(NameOf(mesh, {}) + Name(exchange));
        ExpectNear(Gradients(shape, options, mesh), one);
      }
    }
  }
}

TEST_P(DividedModelTest, TheCurveIsThatOfOneRankUnderEveryDivision) {
  const planner::ModelShape shape = Shape(GetParam());
  TrainingOptions options = Options();
  const auto train = [&](const MeshShape& mesh) {
    return TrainRanks(mesh, shape.vocabulary, 6,
                      [&](int rank) { return MakeRankState(shape, options, mesh, rank); });
  };
  const RankResult one = train({})[0];
  EXPECT_LT(one.losses.back(), one.losses.front());
  for (const MeshShape& mesh :
       {MeshShape{.tensor = 2}, MeshShape{.shard = 2, .tensor = 2},
        MeshShape{.data = 2, .shard = 2, .tensor = 2}, MeshShape{.pipeline = 2},
        MeshShape{.pipeline = 3, .shard = 2}, MeshShape{.pipeline = 2, .data = 2, .shard = 2},
        MeshShape{.pipeline = 2, .shard = 2, .tensor = 2}, MeshShape{.context = 2},
        MeshShape{.shard = 2, .context = 2}, MeshShape{.data = 2, .context = 2, .tensor = 2},
        MeshShape{.pipeline = 2, .shard = 2, .context = 2}}) {
    options.context_exchange = mesh.shard == 1 ? ContextExchange::kHeads : ContextExchange::kRing;
    for (const Division& divided :
         {Division{}, Division{.gradients = true}, Division{.values = true, .gradients = true}}) {
      SCOPED_TRACE(NameOf(mesh, divided));
      options.pipeline_schedule = mesh.pipeline != 2  ? PipelineSchedule::kOneForwardOneBackward
                                  : divided.values    ? PipelineSchedule::kZeroBubbleV
                                  : divided.gradients ? PipelineSchedule::kInterleaved
                                                      : PipelineSchedule::kZeroBubble;
      options.chunks = FewestChunks(options.pipeline_schedule);
      options.divided = divided;
      for (const RankResult& result : train(mesh)) {
        ASSERT_EQ(result.losses.size(), one.losses.size());
        for (size_t i = 0; i < one.losses.size(); ++i) {
          EXPECT_NEAR(result.losses[i], one.losses[i], 1e-10 * one.losses[i]);
          EXPECT_NEAR(result.norms[i], one.norms[i], 1e-10 * one.norms[i]);
        }
        EXPECT_NEAR(result.validation, one.validation, 1e-10 * one.validation);
      }
    }
  }
}

// For a fixed division of the model, the number of workers changes no bit.
TEST_P(DividedModelTest, DeterministicModeIsBitwiseEqualForAnyNumberOfWorkers) {
  const planner::ModelShape shape = Shape(GetParam());
  TrainingOptions options = Options();
  options.deterministic = true;
  const auto train = [&](const MeshShape& mesh) {
    return TrainRanks(mesh, shape.vocabulary, 6,
                      [&](int rank) { return MakeRankState(shape, options, mesh, rank); });
  };
  const std::vector<RankResult> one = train({.tensor = 2});
  for (const MeshShape& mesh :
       {MeshShape{.data = 2, .tensor = 2}, MeshShape{.shard = 2, .tensor = 2}}) {
    SCOPED_TRACE(NameOf(mesh, {}));
    const std::vector<RankResult> results = train(mesh);
    for (size_t r = 0; r < results.size(); ++r) {
      EXPECT_EQ(results[r].losses, one[0].losses);
      EXPECT_EQ(results[r].norms, one[0].norms);
      EXPECT_EQ(results[r].values, one[r % 2].values);
    }
  }
  for (const ContextExchange exchange : kExchanges) {
    options.context_exchange = exchange;
    const std::vector<RankResult> halves = train({.context = 2});
    for (const MeshShape& mesh :
         {MeshShape{.data = 3, .context = 2}, MeshShape{.shard = 2, .context = 2}}) {
      SCOPED_TRACE(NameOf(mesh, {}) + Name(exchange));
      for (const RankResult& result : train(mesh)) {
        EXPECT_EQ(result.losses, halves[0].losses);
        EXPECT_EQ(result.norms, halves[0].norms);
        EXPECT_EQ(result.values, halves[0].values);
      }
    }
  }
  const std::vector<RankResult> stages = train({.pipeline = 2});
  for (const MeshShape& mesh :
       {MeshShape{.pipeline = 2, .data = 3}, MeshShape{.pipeline = 2, .shard = 2}}) {
    SCOPED_TRACE(NameOf(mesh, {}));
    const std::vector<RankResult> results = train(mesh);
    const size_t of_stage = results.size() / 2;
    for (size_t r = 0; r < results.size(); ++r) {
      EXPECT_EQ(results[r].losses, stages[0].losses);
      EXPECT_EQ(results[r].norms, stages[0].norms);
      EXPECT_EQ(results[r].values, stages[r / of_stage].values);
    }
  }
}

void ExpectSameBits(const std::map<std::string, at::Tensor>& got,
                    const std::map<std::string, at::Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, tensor] : want) EXPECT_TRUE(got.at(name).equal(tensor)) << name;
}

TEST_P(DividedModelTest, BlocksThatAreComputedAgainGiveTheSameBits) {
  const planner::ModelShape shape = Shape(GetParam());
  const auto compare = [&](TrainingOptions options, const MeshShape& mesh) {
    const auto kept = Gradients(shape, options, mesh);
    for (const int every : {1, 2}) {
      SCOPED_TRACE(
          absl::StrCat(NameOf(mesh, {}), Name(options.pipeline_schedule), " every ", every));
      options.activations.recompute_every = every;
      ExpectSameBits(Gradients(shape, options, mesh), kept);
    }
  };
  TrainingOptions options = Options();
  compare(options, {.data = 2, .tensor = 2});
  compare(options, {.pipeline = 2, .shard = 2});
  compare(options, {.context = 2, .tensor = 2});
  options.context_exchange = ContextExchange::kRing;
  compare(options, {.pipeline = 2, .context = 2});
  options.pipeline_schedule = PipelineSchedule::kZeroBubble;
  compare(options, {.pipeline = 3});
  options.deterministic = true;
  compare(options, {});
  compare(options, {.pipeline = 2, .tensor = 2});
}

TEST_P(DividedModelTest, TrainingWithBlocksThatAreComputedAgainGivesTheSameBits) {
  const planner::ModelShape shape = Shape(GetParam());
  TrainingOptions options = Options();
  for (const MeshShape& mesh : {MeshShape{.shard = 2}, MeshShape{.pipeline = 2, .shard = 2}}) {
    for (const Division& divided :
         {Division{}, Division{.gradients = true}, Division{.values = true, .gradients = true}}) {
      SCOPED_TRACE(NameOf(mesh, divided));
      options.divided = divided;
      const auto train = [&](int every) {
        options.activations.recompute_every = every;
        return TrainRanks(mesh, shape.vocabulary, 4,
                          [&](int rank) { return MakeRankState(shape, options, mesh, rank); });
      };
      const std::vector<RankResult> kept = train(0), again = train(1);
      for (size_t r = 0; r < kept.size(); ++r) {
        ASSERT_EQ(again[r].losses.size(), 4U);
        EXPECT_EQ(again[r].losses, kept[r].losses);
        EXPECT_EQ(again[r].norms, kept[r].norms);
        EXPECT_EQ(again[r].validation, kept[r].validation);
        EXPECT_EQ(again[r].digest, kept[r].digest);
        EXPECT_EQ(again[r].values, kept[r].values);
      }
    }
  }
}

// Layouts that cut no activation round the same blocks of numbers. BF16 rounds each number alone,
// so that it does not matter how they are cut.
TEST_P(DividedModelTest, GradientsOfPackedActivationsAreThoseOfOneRank) {
  const planner::ModelShape shape = Shape(GetParam());
  TrainingOptions options = Options();
  const auto whole = Gradients(shape, options, {});
  for (const auto format : {planner::SavedFormat::kBf16, planner::SavedFormat::kInt8}) {
    options.activations = {.format = format};
    options.divided = {};
    const auto one = Gradients(shape, options, {});
    const std::string rounded =
        shape.family == ModelFamily::kLlama  ? "model.layers.0.mlp.down_proj.weight"
        : shape.family == ModelFamily::kGpt2 ? "transformer.h.0.mlp.c_proj.weight"
                                             : "transformer.h.0.mlp.dense_4h_to_h.weight";
    EXPECT_FALSE(one.at(rounded).equal(whole.at(rounded))) << rounded;
    const auto compare = [&](const MeshShape& mesh) {
      SCOPED_TRACE(NameOf(mesh, options.divided));
      ExpectNear(Gradients(shape, options, mesh), one);
    };
    compare({.pipeline = 2, .shard = 2});
    options.pipeline_schedule = PipelineSchedule::kZeroBubble;
    compare({.pipeline = 3});
    options.divided = {.values = true, .gradients = true};
    compare({.data = 2, .shard = 2});
    if (format == planner::SavedFormat::kInt8) continue;
    options.divided = {};
    compare({.tensor = 2});
    options.context_exchange = ContextExchange::kHeads;
    compare({.context = 2});
  }
}

// The errors of the roundings, each of half a step at most, do not add up to more than this of a
// tensor's gradient.
TEST_P(DividedModelTest, PackedActivationsChangeGradientsLittle) {
  planner::ModelShape shape = Shape(GetParam());
  TrainingOptions options = Options();
  for (const auto [format, bound] : {std::pair(planner::SavedFormat::kBf16, 0.01),
                                     std::pair(planner::SavedFormat::kInt8, 0.05)}) {
    options.activations = {};
    const auto whole = Gradients(shape, options, {});
    options.activations.format = format;
    for (const auto& [name, gradient] : Gradients(shape, options, {})) {
      const double error = gradient.sub(whole.at(name)).norm().item<double>();
      const double norm = whole.at(name).norm().item<double>();
      EXPECT_TRUE(error <= bound * norm) << name << ": " << error / norm;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, DividedModelTest,
                         testing::Values(ModelFamily::kGpt2, ModelFamily::kLlama,
                                         ModelFamily::kBloom));

TEST(DividedModelRefusalTest, AModelThatCannotBeDividedSoIsRefusedByName) {
  TrainingOptions options = Options();
  options.parts = 3;
  const auto state = TrainingState::Create(*MakeModel(Shape(ModelFamily::kGpt2)), options);
  EXPECT_EQ(state.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(state.status().message()),
              HasSubstr("4 pieces cannot be shared by 3 ranks; the nearest numbers are 2 or 4"));
}

TEST(DividedModelRefusalTest, ASequenceThatRanksCannotDivideIsRefused) {
  TrainingOptions options = Options();
  options.sequence = 12;
  options.context_exchange = ContextExchange::kRing;
  const MeshShape mesh{.context = 4};
  LocalGroups groups(mesh);
  const auto state = MakeRankState(Shape(ModelFamily::kGpt2), options, mesh, 0);
  const std::atomic<bool> interrupt = false;
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  SyntheticFeed feed(options, 61);
  Engine engine(*state, feed, timer, interrupt);
  const absl::Status begun = engine.BeginAlone(groups.Of(0));
  EXPECT_EQ(begun.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(begun.message()),
              HasSubstr("train.sequence 12 must be a multiple of 8, because ranks divide it along "
                        "context 4 and tensor 1"));
}

TEST(DividedModelRefusalTest, MoreStagesThanBlocksAreRefused) {
  TrainingOptions options = Options();
  options.stages = 6;
  const auto state = TrainingState::Create(*MakeModel(Shape(ModelFamily::kGpt2)), options);
  EXPECT_EQ(state.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(state.status().message()),
              HasSubstr("a pipeline of 6 stages for a model of 5 blocks"));
}

}  // namespace
}  // namespace muster::trainer
