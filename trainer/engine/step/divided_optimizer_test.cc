// Tests, with ranks as threads, that optimizers that see whole tensors update them as on one rank,
// however ranks divide the model and its state.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/ops/full.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "planner/model_shape.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/link/round_groups.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/model/partition.h"
#include "trainer/model/sequence_order.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/lamb.h"
#include "trainer/optim/muon.h"
#include "trainer/optim/optimizer.h"
#include "trainer/parallel/unit.h"
#include "trainer/parallel/unit_layout.h"
#include "trainer/random/element_run.h"

namespace muster::trainer {
namespace {

using planner::ModelFamily;

constexpr int kSteps = 3;

// The width makes slices begin and end within matrices.
planner::ModelShape Shape(ModelFamily family) {
  planner::ModelShape shape = {.family = family,
                               .layers = 3,
                               .heads = 4,
                               .width = 40,
                               .positions = 16,
                               .vocabulary = 61,
                               .dropout = 0.1};
  if (family == ModelFamily::kLlama) {
    shape.key_value_heads = 2;
    shape.feed_forward_width = 56;
    shape.tied_head = false;
  }
  return shape;
}

using Tensors = std::map<std::string, at::Tensor>;

// Adds this rank's parts of the weights, which it has whole now, to the tensors of the model.
void AddWeights(const TrainingState& state, Tensors& whole) {
  for (const Unit& unit : state.units()) {
    for (size_t i = 0; i < unit.parameters().size(); ++i) {
      const ParameterSpec& spec = unit.layout().tensors[i].spec;
      const at::Tensor elements = unit.parameters()[i].detach().reshape({-1});
      int64_t size = 1;
      for (const int64_t d : spec.shape) size *= d;
      const auto found =
          whole.try_emplace(spec.name, at::full({size}, std::nan(""), at::kDouble)).first;
      int64_t taken = 0;
      for (const ElementRun& run : RunsOfPart(spec.shape, spec.partition, state.part())) {
        found->second.narrow(0, run.begin, run.count).copy_(elements.narrow(0, taken, run.count));
        taken += run.count;
      }
    }
  }
}

struct Trained {
  std::vector<RankResult> ranks;
  Tensors weights;
};

Trained Train(const planner::ModelShape& shape, const TrainingOptions& options,
              const MeshShape& mesh) {
  LocalGroups groups(mesh);
  Trained out{.ranks = std::vector<RankResult>(static_cast<size_t>(mesh.size()))};
  std::vector<std::unique_ptr<TrainingState>> states(out.ranks.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < states.size(); ++r) {
    threads.emplace_back([&, r] {
      const int rank = static_cast<int>(r);
      states[r] = MakeRankState(shape, options, mesh, rank);
      ASSERT_NE(states[r], nullptr);
      out.ranks[r] = TrainRank(*states[r], shape.vocabulary, kSteps, groups.Of(rank));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& state : states) AddWeights(*state, out.weights);
  return out;
}

void ExpectNear(const Trained& got, const Trained& want) {
  for (const RankResult& rank : got.ranks) {
    ASSERT_EQ(rank.losses.size(), want.ranks[0].losses.size());
    for (size_t i = 0; i < rank.losses.size(); ++i) {
      const double loss = want.ranks[0].losses[i];
      EXPECT_TRUE(std::abs(rank.losses[i] - loss) <= 1e-10 * loss) << rank.losses[i] << " " << loss;
    }
  }
  ASSERT_EQ(got.weights.size(), want.weights.size());
  for (const auto& [name, tensor] : want.weights) {
    const double error = got.weights.at(name).sub(tensor).abs().max().item<double>();
    const double scale = tensor.abs().max().item<double>();
    EXPECT_TRUE(error <= 1e-10 * scale) << name << ": " << error << " of " << scale;
  }
}

struct Case {
  OptimizerFactory make;
  ModelFamily family;
  double rate;
};

class DividedOptimizerTest : public testing::TestWithParam<Case> {
 protected:
  static TrainingOptions Options(bool deterministic) {
    TrainingOptions options = TinyOptions();
    options.types.parameters = options.types.compute = at::kDouble;
    options.deterministic = deterministic;
    options.optimizer.make = GetParam().make;
    options.schedule.peak = GetParam().rate;
    if (GetParam().family == ModelFamily::kGpt2) {
      options.optimizer.groups = {
          {.match = "h\\.0\\..*bias$", .rate_factor = 0.5, .weight_decay = 0.2},
          {.match = "h\\.1\\.mlp\\.c_fc", .rate_factor = 0.0},
          {.match = "wpe", .weight_decay = 0.0}};
    }
    return options;
  }
};

TEST_P(DividedOptimizerTest, WeightsAreThoseOfOneRankUnderEveryDivision) {
  const planner::ModelShape shape = Shape(GetParam().family);
  TrainingOptions options = Options(false);
  const Trained one = Train(shape, options, {});
  EXPECT_LT(one.ranks[0].losses.back(), one.ranks[0].losses.front());
  for (const MeshShape& mesh :
       {MeshShape{.data = 3}, MeshShape{.shard = 2}, MeshShape{.shard = 3},
        MeshShape{.data = 2, .shard = 2}, MeshShape{.tensor = 2}, MeshShape{.tensor = 4},
        MeshShape{.shard = 3, .tensor = 2}, MeshShape{.data = 2, .shard = 2, .tensor = 2},
        MeshShape{.pipeline = 2}, MeshShape{.pipeline = 3, .shard = 2},
        MeshShape{.pipeline = 2, .data = 2, .tensor = 2},
        MeshShape{.pipeline = 2, .shard = 2, .tensor = 2}, MeshShape{.context = 2},
        MeshShape{.shard = 2, .context = 2, .tensor = 2}}) {
    const bool is_llama = GetParam().family == ModelFamily::kLlama;
    if (is_llama && (mesh.tensor > 2 || mesh.size() <= 2)) continue;
    options.context_exchange = mesh.tensor == 1 ? ContextExchange::kHeads : ContextExchange::kRing;
    for (const Division& divided :
         {Division{}, Division{.gradients = true}, Division{.values = true, .gradients = true}}) {
      // The optimizer has the same slices in every stage of ZeRO.
      if (mesh.shard == 1 ? divided.gradients : mesh.tensor * mesh.data > 1 && !divided.values) {
        continue;
      }
      SCOPED_TRACE(NameOf(mesh, divided));
      options.divided = divided;
      ExpectNear(Train(shape, options, mesh), one);
    }
  }
}

// For a fixed division of the model, the number of workers changes no bit.
TEST_P(DividedOptimizerTest, DeterministicModeIsBitwiseEqualForAnyNumberOfWorkers) {
  const planner::ModelShape shape = Shape(GetParam().family);
  TrainingOptions options = Options(true);
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    if (type == at::kDouble && GetParam().family == ModelFamily::kLlama) continue;
    options.types.parameters = options.types.compute = type;
    for (const MeshShape& fixed : {MeshShape{}, MeshShape{.tensor = 2}, MeshShape{.pipeline = 2}}) {
      options.divided = {};
      const Trained want = Train(shape, options, fixed);
      for (MeshShape mesh : {MeshShape{.data = 3}, MeshShape{.shard = 2}, MeshShape{.shard = 3},
                             MeshShape{.data = 2, .shard = 2}}) {
        mesh.tensor = fixed.tensor;
        mesh.pipeline = fixed.pipeline;
        options.divided = {.values = mesh.data == 1, .gradients = mesh.data == 1};
        SCOPED_TRACE(NameOf(mesh, options.divided));
        const Trained got = Train(shape, options, mesh);
        for (const auto& rank : got.ranks) EXPECT_EQ(rank.losses, want.ranks[0].losses);
        for (const auto& [name, tensor] : want.weights) {
          EXPECT_TRUE(got.weights.at(name).equal(tensor)) << name;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, DividedOptimizerTest,
                         testing::Values(Case{&MakeAdamW, ModelFamily::kGpt2, 0.003},
                                         Case{&MakeLamb, ModelFamily::kGpt2, 0.01},
                                         Case{&MakeLamb, ModelFamily::kLlama, 0.01},
                                         Case{&MakeMuon, ModelFamily::kGpt2, 0.003},
                                         Case{&MakeMuon, ModelFamily::kLlama, 0.003}));

}  // namespace
}  // namespace muster::trainer
