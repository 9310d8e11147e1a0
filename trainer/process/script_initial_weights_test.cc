#include "trainer/process/script_initial_weights.h"

#include <memory>
#include <utility>
#include <vector>

#include "ATen/ops/cat.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/zeros.h"
#include "absl/status/status.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/model/torchscript/testing/script_source.h"

namespace muster::trainer {
namespace {

constexpr char kPath[] = "/model.pt";

// Returns what rank `index` of two holds of a parameter after it has loaded the file.
at::Tensor LoadedPart(Files& files, int index, const std::string& name) {
  TrainingOptions options = TinyOptions();
  options.divided = {.values = true, .gradients = true};
  auto state = *TrainingState::Create(*LoadScriptModel(files, kPath, at::kFloat), options);
  EXPECT_TRUE(state->Divide({.index = index, .count = 2}).ok());
  EXPECT_TRUE(state->InitializeFresh().ok());
  ScriptInitialWeights weights(files, kPath, at::kFloat);
  const absl::Status loaded = LoadInitialWeights(weights, *state);
  EXPECT_TRUE(loaded.ok()) << loaded;
  EXPECT_EQ(weights.Fill(name, {61, 32}, 0, at::zeros({1})),
            absl::FailedPreconditionError("/model.pt: is not open"));
  for (const TensorPart& part : state->ValueParts()) {
    if (part.name == name) return part.elements.clone();
  }
  ADD_FAILURE() << name << " is no parameter";
  return {};
}

TEST(ScriptInitialWeightsTest, EveryRankFillsItsPartAndKeepsNothingOfTheFile) {
  MemoryFiles files;
  ASSERT_TRUE(WriteFileAtomically(files, kPath, TinyScript(0.0)).ok());
  const char* const name = "blocks.1.up";
  const at::Tensor first = LoadedPart(files, 0, name), second = LoadedPart(files, 1, name);
  EXPECT_GT(first.numel(), 0);
  EXPECT_TRUE(at::equal(at::cat({first, second}), RandomParameter({32, 96}, 3).detach().flatten()));
}

TEST(ScriptInitialWeightsTest, AFileThatIsGoneIsNamed) {
  MemoryFiles files;
  ScriptInitialWeights weights(files, kPath, at::kFloat);
  EXPECT_STREQ(weights.field(), "trainer.model.torchScript");
  EXPECT_TRUE(absl::IsNotFound(weights.Open()));
}

}  // namespace
}  // namespace muster::trainer
