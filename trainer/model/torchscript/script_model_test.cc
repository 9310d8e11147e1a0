#include "trainer/model/torchscript/script_model.h"

#include <string>
#include <vector>

#include "ATen/ops/equal.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/zeros.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "trainer/model/torchscript/testing/script_source.h"

namespace muster::trainer {
namespace {

constexpr char kPath[] = "/models/model.pt";
constexpr char kPrefix[] = "trainer.model.torchScript: /models/model.pt: ";

void Write(Files& files, const std::string& bytes) {
  ASSERT_TRUE(files.MakeDirectories("/models").ok());
  ASSERT_TRUE(WriteFileAtomically(files, kPath, bytes).ok());
}

absl::StatusOr<Model> Load(const std::string& bytes, c10::ScalarType type = at::kFloat) {
  MemoryFiles files;
  Write(files, bytes);
  return LoadScriptModel(files, kPath, type);
}

std::vector<std::string> NamesOf(const Block& block) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : block.parameters()) names.push_back(spec.name);
  return names;
}

// Returns why the model is refused, without the path.
std::string WhyNot(const torch::jit::Module& module, c10::ScalarType type = at::kFloat) {
  const absl::Status status = Load(SaveScript(module), type).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(), kPrefix)) << status;
  return std::string(status.message()).substr(sizeof(kPrefix) - 1);
}

at::Tensor Weight() { return RandomParameter({61, 4}, 1); }

// Returns a module with the parameter `w`, [61, 4], and this forward.
torch::jit::Module Script(const std::string& signature, const std::string& body = "return self.w") {
  return MakeScript(absl::StrCat("def forward(", signature, ":\n    ", body, "\n"),
                    {{"w", Weight()}});
}

torch::jit::Module Loss() { return Script("self, x, labels) -> Tensor", "return x.sum()"); }

TEST(ScriptModelTest, AListOfBlocksHasPyTorchsNamesAndTiedWeightsOneName) {
  const auto model = Load(TinyScript(0.1));
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->blocks.size(), 3U);
  EXPECT_EQ(model->blocks[0]->name(), "blocks.0");
  EXPECT_EQ(model->blocks[2]->name(), "blocks.2");
  EXPECT_EQ(NamesOf(*model->blocks[0]),
            (std::vector<std::string>{"blocks.0.table", "blocks.0.places"}));
  EXPECT_EQ(NamesOf(*model->blocks[2]),
            (std::vector<std::string>{"blocks.0.table", "blocks.2.mix"}));
  EXPECT_EQ(model->config_json, R"({"model_type":"torchscript"})");
  const std::vector<ParameterSpec>& layer = model->blocks[1]->parameters();
  EXPECT_EQ(layer[0], (ParameterSpec{.name = "blocks.1.gain", .shape = {32}, .decay = false}));
  EXPECT_EQ(layer[2], (ParameterSpec{.name = "blocks.1.up", .shape = {32, 96}, .decay = true}));
}

TEST(ScriptModelTest, AModuleWithForwardIsOneBlockWhateverItsPartsAreCalled) {
  torch::jit::Module root = MakeScriptList({MakeScript("", {{"w", Weight()}})});
  root.register_parameter("bias", at::zeros({4}).requires_grad_(true), false);
  root.define("def forward(self, tokens, labels):\n    return self.bias.sum()\n");
  const auto model = Load(SaveScript(root));
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->blocks.size(), 1U);
  EXPECT_EQ(model->blocks[0]->name(), "model");
  EXPECT_EQ(NamesOf(*model->blocks[0]), (std::vector<std::string>{"blocks.0.w", "bias"}));
}

TEST(ScriptModelTest, AFileThatIsNoScriptIsRefused) {
  MemoryFiles files;
  const auto missing = LoadScriptModel(files, kPath, at::kFloat).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_TRUE(absl::StartsWith(missing.message(), "trainer.model.torchScript: /models/model.pt"))
      << missing;
  for (const std::string& bytes :
       {std::string(), std::string("no zip"), TinyScript(0).substr(0, 3000)}) {
    const absl::Status status = Load(bytes).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(absl::StartsWith(
        status.message(),
        absl::StrCat(kPrefix, "is no TorchScript file, as torch.jit.save writes it: ")))
        << status;
  }
}

TEST(ScriptModelTest, AModelOfAnotherStructureIsRefused) {
  EXPECT_EQ(WhyNot(MakeScript("", {{"w", Weight()}})),
            "the model has neither a method forward nor a list of modules named blocks");
  EXPECT_EQ(WhyNot(MakeScriptList({Script("self, tokens)"), MakeScript("", {})})),
            "block blocks.1: it has no method forward");
  EXPECT_EQ(WhyNot(Script("self, x, labels)")),
            "block model: forward takes 1 tensor besides tokens, labels and positions (x), and no "
            "block is before it");
  EXPECT_EQ(WhyNot(MakeScriptList({Script("self, tokens)", "return self.w, self.w"), Loss()})),
            "block blocks.1: forward takes 1 tensor besides tokens, labels and positions (x), and "
            "block blocks.0 returns 2");
  EXPECT_EQ(WhyNot(Script("self, tokens)")),
            "block model: forward, as the last one, must take an argument labels and return the "
            "loss, summed over the labels that are not -100");
  EXPECT_EQ(WhyNot(Script("self, labels)", "return self.w, self.w")),
            "block model: forward, as the last one, returns 2 tensors: it must return the loss "
            "alone");
}

TEST(ScriptModelTest, ArgumentsAndResultsThatAreNoTensorsAreRefused) {
  EXPECT_EQ(WhyNot(Script("self, labels, scale: float)")),
            "block model: forward takes scale of type float: arguments are tensors, or have a "
            "default value");
  EXPECT_EQ(WhyNot(Script("self, labels: List[int])")),
            "block model: forward takes labels of type List[int]: arguments are tensors, or have a "
            "default value");
  EXPECT_EQ(WhyNot(Script("self, labels)", "return {'loss': self.w}")),
            "block model: forward returns Dict[str, Tensor]: it must return a Tensor or a tuple of "
            "them");
  EXPECT_EQ(WhyNot(Script("self, labels)", "return self.w, 3")),
            "block model: forward returns Tuple[Tensor, int]: it must return a Tensor or a tuple "
            "of them");
  EXPECT_TRUE(Load(SaveScript(Script("self, labels: Optional[Tensor], scale: float = 2.0)"))).ok());
}

TEST(ScriptModelTest, ParametersThatUnitsCannotHoldAreRefused) {
  const auto with = [](const at::Tensor& w) {
    return MakeScript("def forward(self, labels):\n    return self.w.sum()\n", {{"w", w}});
  };
  EXPECT_EQ(WhyNot(with(at::ones({2}, at::kLong))),
            "parameter w is a tensor of Long: only dense ones of floating-point numbers are "
            "trained; make it a buffer");
  EXPECT_EQ(WhyNot(with(at::ones({2}, at::kBFloat16).requires_grad_(true))),
            "parameter w is of type BFloat16, and Float is wanted: convert the model before it is "
            "saved, with model.to(...), or change train.precision");
  EXPECT_EQ(WhyNot(with(at::ones({2}, at::kDouble).requires_grad_(true))),
            "parameter w is of type Double, and Float is wanted: convert the model before it is "
            "saved, with model.to(...), or change train.precision");
  EXPECT_EQ(WhyNot(with(at::ones({2}))),
            "parameter w does not require a gradient, and parameters are trained without "
            "exception: make it a buffer");
  EXPECT_EQ(WhyNot(with(at::ones({0}).requires_grad_(true))),
            "parameter w has no elements: leave it out");
  EXPECT_EQ(WhyNot(MakeScript("def forward(self, labels):\n    return self.b.sum()\n", {},
                              {{"b", at::ones({2})}})),
            "the model has no parameters to train: torch.jit.freeze, which makes constants of "
            "them, must not be called");
}

TEST(ScriptModelTest, MemoryThatParametersShareInPartIsRefused) {
  const at::Tensor table = Weight();
  const std::string forward = "def forward(self, labels):\n    return self.w.sum()\n";
  EXPECT_EQ(WhyNot(MakeScript(forward, {{"w", table}, {"v", table.detach().t().requires_grad_()}})),
            "parameter v lies in the memory of w and is another part or shape of it: tie whole "
            "parameters, or compute the one from the other");
  EXPECT_EQ(WhyNot(MakeScript(forward, {{"w", table}}, {{"turned", table.detach().t()}})),
            "turned lies in the memory of the parameter w and would not change with it: compute "
            "it in forward");
  torch::jit::Module root = MakeScriptList({Script("self, labels)")});
  root.register_parameter("outside", Weight(), false);
  EXPECT_EQ(WhyNot(root),
            "parameter outside is outside of blocks, where nothing uses it: move it into the block "
            "that does");
}

TEST(ScriptModelTest, ModelsOfFp32TrainInFp64WithTheirBuffers) {
  const std::string bytes = SaveScript(
      MakeScript("def forward(self, labels):\n    return torch.matmul(self.w, self.b).sum()\n",
                 {{"w", Weight()}}, {{"b", at::ones({4})}}));
  const auto model = Load(bytes, at::kDouble);
  ASSERT_TRUE(model.ok()) << model.status();
  model->blocks[0]->Bind({at::ones({61, 4}, at::kDouble).requires_grad_(true)});
  MicroBatchContext context;
  context.tokens = context.labels = context.positions = at::zeros({1}, at::kLong);
  const at::Tensor loss = model->blocks[0]->Forward({}, context).tensors[0];
  EXPECT_EQ(loss.scalar_type(), at::kDouble);
  EXPECT_EQ(loss.item<double>(), 244.0);
}

TEST(ScriptWeightsTest, GivesEveryParameterOnceInParts) {
  MemoryFiles files;
  Write(files, TinyScript(0.0));
  auto weights = ScriptWeights::Open(files, kPath, at::kDouble);
  ASSERT_TRUE(weights.ok()) << weights.status();
  const at::Tensor part = at::zeros({40}, at::kDouble);
  ASSERT_TRUE((*weights)->Take("blocks.0.table", {61, 32}, 100, part).ok());
  EXPECT_TRUE(at::equal(
      part, RandomParameter({61, 32}, 1).detach().flatten().narrow(0, 100, 40).to(at::kDouble)));
  EXPECT_EQ((*weights)->Take("blocks.1.up", {96, 32}, 0, part),
            absl::FailedPreconditionError(
                "/models/model.pt: has no parameter blocks.1.up of the shape that it had before"));
  EXPECT_FALSE((*weights)->Take("blocks.0.table", {61, 32}, 100, part).ok());
}

}  // namespace
}  // namespace muster::trainer
