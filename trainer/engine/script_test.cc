// Tests, with ranks as threads, that a model of TorchScript trains alike under every layout.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ATen/ops/zeros.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "trainer/engine/engine.h"
#include "trainer/engine/phase_timer.h"
#include "trainer/engine/rejoin.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/model/torchscript/script_model.h"
#include "trainer/model/torchscript/testing/script_source.h"

namespace muster::trainer {
namespace {

constexpr char kPath[] = "/model.pt";
constexpr int64_t kVocabulary = 61;

struct Result {
  std::vector<double> losses, norms;
  double validation = 0.0;
  std::vector<uint64_t> values;  // hashes of the units' values
};

void LoadValues(Files& files, TrainingState& state) {
  auto weights = ScriptWeights::Open(files, kPath, at::kFloat);
  ASSERT_TRUE(weights.ok()) << weights.status();
  for (const TensorPart& part : state.ValueParts()) {
    if (part.elements.numel() == 0) continue;
    const absl::Status taken = (*weights)->Take(part.name, part.shape, part.begin, part.elements);
    ASSERT_TRUE(taken.ok()) << taken;
  }
}

std::vector<uint64_t> HashesOfValues(TrainingState& state, const RoundGroups& groups) {
  if (groups.shard != nullptr) {
    const absl::Status gathered = GatherValues(*groups.shard, state);
    EXPECT_TRUE(gathered.ok()) << gathered;
  }
  std::vector<uint64_t> hashes;
  for (const Unit& unit : state.units()) {
    const at::Tensor& values = unit.values();
    hashes.push_back(Hash64({static_cast<const char*>(values.const_data_ptr()), values.nbytes()}));
  }
  return hashes;
}

void TrainRank(Files& files, const TrainingOptions& options, const MeshShape& mesh, int rank,
               int steps, const RoundGroups& groups, Result& result) {
  const std::atomic<bool> interrupt = false;
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  auto model = LoadScriptModel(files, kPath, at::kFloat);
  ASSERT_TRUE(model.ok()) << model.status();
  auto state = *TrainingState::Create(*std::move(model), options);
  EXPECT_TRUE(state->Divide(ShardOf(mesh, rank)).ok());
  EXPECT_TRUE(state->InitializeFresh().ok());
  LoadValues(files, *state);
  SyntheticFeed feed(options, kVocabulary);
  Engine engine(*state, feed, timer, interrupt);
  ASSERT_TRUE(engine.BeginAlone(groups).ok());
  for (int i = 0; i < steps; ++i) {
    auto outcome = engine.Step({});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    result.losses.push_back(outcome->decision.loss());
    result.norms.push_back(outcome->decision.gradient_norm());
  }
  auto validation = engine.Validate(5);
  ASSERT_TRUE(validation.ok()) << validation.status();
  result.validation = *validation;
  result.values = HashesOfValues(*state, groups);
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
std::vector<Result> Train(const TrainingOptions& options, const MeshShape& mesh, int steps) {
  MemoryFiles files;
  EXPECT_TRUE(WriteFileAtomically(files, kPath, TinyScript(0.2)).ok());
  LocalGroups groups(mesh);
  std::vector<Result> results(static_cast<size_t>(mesh.size()));
  std::vector<std::thread> threads;
  for (int r = 0; r < mesh.size(); ++r) {
    threads.emplace_back([&, r] {
      TrainRank(files, options, mesh, r, steps, groups.Of(r), results[static_cast<size_t>(r)]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(ScriptTest, DeterministicModeIsBitwiseEqualUnderEveryLayoutWithDropout) {
  TrainingOptions options = TinyOptions();
  options.deterministic = true;
  const Result one = Train(options, {}, 10)[0];
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
      for (const Result& result : Train(options, mesh, 10)) {
        EXPECT_EQ(result.losses, one.losses);
        EXPECT_EQ(result.norms, one.norms);
        EXPECT_EQ(result.validation, one.validation);
        EXPECT_EQ(result.values, one.values);
      }
    }
  }
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
