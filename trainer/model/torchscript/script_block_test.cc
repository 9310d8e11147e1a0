#include "trainer/model/torchscript/script_block.h"

#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/arange.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/zeros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/testing/memory_files.h"
#include "c10/util/Exception.h"
#include "gtest/gtest.h"
#include "trainer/model/torchscript/script_model.h"
#include "trainer/model/torchscript/testing/script_source.h"

namespace muster::trainer {
namespace {

constexpr char kPath[] = "/model.pt";

Model Load(const torch::jit::Module& module) {
  MemoryFiles files;
  EXPECT_TRUE(WriteFileAtomically(files, kPath, SaveScript(module)).ok());
  auto model = LoadScriptModel(files, kPath, at::kFloat);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

MicroBatchContext Context() {
  MicroBatchContext context;
  context.tokens = at::arange(8, at::kLong).view({2, 4});
  context.labels = at::arange(8, at::kLong).view({2, 4});
  context.positions = at::arange(4, at::kLong);
  context.samples = {10, 11};
  context.step = 3;
  context.seed = 7;
  return context;
}

// Returns a model of one block with a parameter `w` of 8 ones and buffers `b` and `b2`, bound.
Model One(const std::string& body) {
  torch::jit::Module module = MakeScript("", {{"w", at::ones({8}).requires_grad_(true)}},
                                         {{"b", at::zeros({8})}, {"b2", at::ones({8})}});
  module.register_attribute("count", c10::IntType::get(), 0);
  module.register_attribute("seen", c10::ListType::ofInts(), c10::List<int64_t>());
  module.define(absl::StrCat("def forward(self, tokens, labels, positions):\n    ", body, "\n"));
  Model model = Load(module);
  model.blocks[0]->Bind({at::ones({8}).requires_grad_(true)});
  return model;
}

at::Tensor LossOf(Model& model, const MicroBatchContext& context) {
  return model.blocks[0]->Forward({}, context).tensors[0];
}

// Returns why the first pass refuses the model, without the field.
std::string WhyNot(const std::string& body) {
  Model model = One(body);
  try {
    LossOf(model, Context());
  } catch (const c10::ValueError& e) {
    const std::string why = e.what_without_backtrace();
    EXPECT_TRUE(absl::StartsWith(why, "trainer.model.torchScript: ")) << why;
    return why.substr(sizeof("trainer.model.torchScript: ") - 1);
  }
  return "";
}

// The loss is the sum of what a mask leaves of the labels.
constexpr char kDropout[] =
    "valid = labels.flatten().clamp(min=-1) + 1\n"
    "    return (torch.dropout(self.w, 0.5, self.training) * valid).sum()";

TEST(ScriptBlockTest, MasksAreAFunctionOfSeedStepAndSample) {
  Model model = One(kDropout);
  const MicroBatchContext context = Context();
  const double loss = LossOf(model, context).item<double>();
  LossOf(model, [] {
    MicroBatchContext other = Context();
    other.step = 4;
    return other;
  }());
  EXPECT_EQ(LossOf(model, context).item<double>(), loss);
  Model again = One(kDropout);
  EXPECT_EQ(LossOf(again, context).item<double>(), loss);
  int differ = 0;
  for (int64_t i = 1; i <= 8; ++i) {
    MicroBatchContext of_seed = context, of_step = context, of_sample = context;
    of_seed.seed += static_cast<uint64_t>(i);
    of_step.step += i;
    of_sample.samples = {10 + i, 11 + i};
    for (const MicroBatchContext& other : {of_seed, of_step, of_sample}) {
      if (LossOf(model, other).item<double>() != loss) ++differ;
    }
  }
  EXPECT_GT(differ, 18);
}

TEST(ScriptBlockTest, EvaluationIsWithoutDropout) {
  Model model = One(kDropout);
  MicroBatchContext context = Context();
  const double trained = LossOf(model, context).item<double>();
  context.training = false;
  EXPECT_EQ(LossOf(model, context).item<double>(), 36.0);
  context.training = true;
  EXPECT_EQ(LossOf(model, context).item<double>(), trained);
}

TEST(ScriptBlockTest, GradientsAreAddedInPlace) {
  Model model = One("return (self.w * self.w * labels.flatten().clamp(min=0)).sum()");
  const at::Tensor view = at::full({8}, 3.0).requires_grad_(true);
  const at::Tensor gradient = at::ones({8});
  view.mutable_grad() = gradient;
  model.blocks[0]->Bind({view});
  for (int i = 0; i < 3; ++i) LossOf(model, Context()).backward();
  EXPECT_TRUE(view.grad().is_alias_of(gradient));
  EXPECT_TRUE(at::equal(gradient, at::arange(8, at::kFloat).mul(18).add(1)));
}

TEST(ScriptBlockTest, WritesToAttributesAreRefused) {
  const auto why = [](const std::string& name) {
    return absl::StrCat("forward writes to ", name,
                        ", which ranks would not agree on and checkpoints do not hold: only "
                        "parameters may change, and by the optimizer alone (of a BatchNorm, set "
                        "track_running_stats=False)");
  };
  EXPECT_EQ(WhyNot("self.b.add_(1)\n    return self.w.sum()"), why("b"));
  EXPECT_EQ(WhyNot("self.b = self.b + 1\n    return self.w.sum()"), why("b"));
  EXPECT_EQ(WhyNot("self.count += 1\n    return self.w.sum()"), why("count"));
  EXPECT_EQ(WhyNot("self.seen.append(1)\n    return self.w.sum()"), why("seen"));
  EXPECT_EQ(WhyNot("self.w.detach().mul_(2)\n    return self.w.sum()"), why("w"));
  // batch_norm writes its running statistics without counting a version.
  EXPECT_EQ(
      WhyNot("x = self.w.view(1, 8) * torch.ones([2, 1])\n"
             "    x = torch.batch_norm(x, None, None, self.b, self.b2, True, 0.1, 1e-5, False)\n"
             "    return x.sum()"),
      why("b"));
}

TEST(ScriptBlockTest, WritesToTheMicroBatchAreRefused) {
  for (const char* name : {"tokens", "labels", "positions"}) {
    EXPECT_EQ(WhyNot(absl::StrCat(name, ".mul_(2)\n    return self.w.sum()")),
              "forward writes to tokens, labels or positions, which other blocks read: clone them "
              "first");
  }
}

TEST(ScriptBlockTest, ALossThatIsNoScalarWithAGradientIsRefused) {
  EXPECT_EQ(WhyNot("return self.w * 2"),
            "the loss is a Float tensor of shape [8]: it must be a floating-point scalar, summed "
            "over the labels that are not -100");
  EXPECT_EQ(WhyNot("return (self.w * 2).sum().long()"),
            "the loss is a Long tensor of shape []: it must be a floating-point scalar, summed "
            "over the labels that are not -100");
  EXPECT_EQ(WhyNot("return self.b.sum()"),
            "the loss has no gradient: it depends on no parameter and on no output of the block "
            "before");
}

TEST(ScriptBlockTest, ALossThatIsAMeanIsRefused) {
  EXPECT_EQ(WhyNot("valid = labels.flatten() != -100\n"
                   "    return (self.w * valid).sum() / valid.sum()"),
            "the loss is no sum over the labels that are not -100: 1 with the first half of them, "
            "1 with the others, and 1 with all; use reduction='sum' and ignore_index=-100");
  EXPECT_EQ(WhyNot("return (self.w * (labels.flatten() != -100)).sum()"), "");
}

TEST(ScriptBlockTest, AModuleThatBlocksShareTrainsInBoth) {
  const auto dropout =
      MakeScript("def forward(self, x):\n    return torch.dropout(x, 0.5, self.training)\n", {});
  auto first = MakeScript("", {{"w", at::ones({8}).requires_grad_(true)}});
  first.register_module("dropout", dropout);
  first.define("def forward(self, tokens):\n    return self.dropout.forward(self.w)\n");
  auto last = MakeScript("", {});
  last.register_module("dropout", dropout);
  last.define(
      "def forward(self, x, labels):\n"
      "    return (self.dropout.forward(x) * (labels.flatten() != -100)).sum()\n");
  Model model = Load(MakeScriptList({first, last}));
  model.blocks[0]->Bind({at::ones({8}).requires_grad_(true)});
  const at::Tensor dropped = model.blocks[0]->Forward({}, Context()).tensors[0];
  EXPECT_FALSE(at::equal(dropped, at::ones({8})));
  // The first pass with a loss evaluates besides.
  model.blocks[1]->Forward({dropped.detach().requires_grad_(true)}, Context());
  EXPECT_TRUE(at::equal(model.blocks[0]->Forward({}, Context()).tensors[0], dropped));
}

TEST(ScriptBlockTest, AParameterThatIsReturnedIsRefused) {
  const auto first = MakeScript("def forward(self, tokens):\n    return self.w.view(4, 2)\n",
                                {{"w", at::ones({8}).requires_grad_(true)}});
  const auto last = MakeScript("def forward(self, x, labels):\n    return x.sum()\n", {});
  Model model = Load(MakeScriptList({first, last}));
  model.blocks[0]->Bind({at::ones({8}).requires_grad_(true)});
  EXPECT_THROW(model.blocks[0]->Forward({}, Context()), c10::ValueError);
}

TEST(ScriptBlockTest, WithoutLabelsThereAreNoLogits) {
  Model model = One("return self.w.sum()");
  MicroBatchContext context = Context();
  context.labels.reset();
  try {
    LossOf(model, context);
    ADD_FAILURE() << "the model was run";
  } catch (const c10::ValueError& e) {
    EXPECT_STREQ(e.what_without_backtrace(),
                 "trainer.model.torchScript: the model returns a loss and no logits, so it does "
                 "not generate");
  }
}

}  // namespace
}  // namespace muster::trainer
