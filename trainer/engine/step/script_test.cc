// Tests, with ranks as threads, that a model of TorchScript trains alike under every layout.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "ATen/ops/zeros.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/model/torchscript/script_model.h"
#include "trainer/model/torchscript/testing/script_source.h"

namespace muster::trainer {
namespace {

constexpr char kPath[] = "/model.pt";
constexpr int64_t kVocabulary = 61;

void LoadValues(Files& files, TrainingState& state) {
  auto weights = ScriptWeights::Open(files, kPath, at::kFloat);
  ASSERT_TRUE(weights.ok()) << weights.status();
  for (const TensorPart& part : state.ValueParts()) {
    if (part.elements.numel() == 0) continue;
    const absl::Status taken = (*weights)->Take(part.name, part.shape, part.begin, part.elements);
    ASSERT_TRUE(taken.ok()) << taken;
  }
}

// Returns the error of the first step of a model of one block.
absl::Status FirstStep(const std::string& body) {
  MemoryFiles files;
  const at::Tensor w = RandomParameter({kVocabulary}, 1);
  const auto module = MakeScript("def forward(self, tokens, labels):\n    " + body + "\n",
                                 {{"w", w}}, {{"mean", at::zeros({kVocabulary})}});
  EXPECT_TRUE(WriteFileAtomically(files, kPath, SaveScript(module)).ok());
  const TrainingOptions options = TinyOptions();
  auto state = *TrainingState::Create(*LoadScriptModel(files, kPath, at::kFloat), options);
  EXPECT_TRUE(state->InitializeFresh().ok());
  SyntheticFeed feed(options, kVocabulary);
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  const std::atomic<bool> interrupt = false;
  Engine engine(*state, feed, timer, interrupt);
  LocalGroups groups({});
  EXPECT_TRUE(engine.BeginAlone(groups.Of(0)).ok());
  return engine.Step({}).status();
}

// Trains on every rank of the layout; returns the results of each.
std::vector<RankResult> Train(const TrainingOptions& options, const MeshShape& mesh, int steps) {
  MemoryFiles files;
  EXPECT_TRUE(WriteFileAtomically(files, kPath, TinyScript(0.2)).ok());
  return TrainRanks(mesh, kVocabulary, steps, [&](int rank) -> std::unique_ptr<TrainingState> {
    auto model = LoadScriptModel(files, kPath, at::kFloat);
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return nullptr;
    auto state = *TrainingState::Create(*std::move(model), options);
    EXPECT_TRUE(state->Divide(PlaceOf(mesh, rank).shard).ok());
    EXPECT_TRUE(state->InitializeFresh().ok());
    LoadValues(files, *state);
    return state;
  });
}

TEST(ScriptTest, DeterministicModeIsBitwiseEqualUnderEveryLayoutWithDropout) {
  TrainingOptions options = TinyOptions();
  options.deterministic = true;
  const RankResult one = Train(options, {}, 10)[0];
  ASSERT_EQ(one.losses.size(), 10U);
  EXPECT_LT(one.losses.back(), one.losses.front());
  const MeshShape layouts[] = {{.data = 2}, {.data = 5}, {.shard = 3}, {.data = 2, .shard = 2}};
  for (const MeshShape& mesh : layouts) {
    for (const Division& divided :
         {Division{}, Division{.gradients = true}, Division{.values = true, .gradients = true}}) {
      if (mesh.shard == 1 && divided.gradients) continue;
      SCOPED_TRACE(absl::StrCat(mesh.data, " x ", mesh.shard,
                                divided.gradients ? ", gradients" : "",
                                divided.values ? ", values" : ""));
      options.divided = divided;
      for (const RankResult& result : Train(options, mesh, 10)) {
        EXPECT_EQ(result.losses, one.losses);
        EXPECT_EQ(result.norms, one.norms);
        EXPECT_EQ(result.validation, one.validation);
        EXPECT_EQ(result.values, one.values);
      }
    }
  }
}

TEST(ScriptTest, BlocksThatAreComputedAgainHaveTheSameRandomNumbers) {
  TrainingOptions options = TinyOptions();
  const RankResult kept = Train(options, {}, 5)[0];
  options.activations.recompute_every = 1;
  const RankResult again = Train(options, {}, 5)[0];
  ASSERT_EQ(again.losses.size(), 5U);
  EXPECT_EQ(again.losses, kept.losses);
  EXPECT_EQ(again.norms, kept.norms);
  EXPECT_EQ(again.values, kept.values);
}

TEST(ScriptTest, AModelThatCannotBeTrainedIsBadInputAndAFailureOfItsCodeIsNot) {
  const absl::Status writes =
      FirstStep("self.mean.add_(self.w.detach())\n    return (self.w * tokens.sum()).sum()");
  EXPECT_TRUE(absl::IsInvalidArgument(writes)) << writes;
  EXPECT_TRUE(absl::StartsWith(
      writes.message(),
      "forward of block model: trainer.model.torchScript: forward writes to mean, "))
      << writes;
  const absl::Status raises =
      FirstStep("assert tokens.sum() < 0, 'too many tokens'\n    return self.w.sum()");
  EXPECT_TRUE(absl::IsUnknown(raises)) << raises;
  EXPECT_TRUE(absl::StartsWith(raises.message(), "forward of block model: ")) << raises;
  EXPECT_TRUE(absl::StrContains(raises.message(), "too many tokens")) << raises;
}

}  // namespace
}  // namespace muster::trainer
