#include "trainer/model/torchscript/testing/script_source.h"

#include <cstdint>
#include <sstream>

#include "ATen/CPUGeneratorImpl.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster::trainer {

at::Tensor RandomParameter(std::vector<int64_t> shape, uint64_t seed) {
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return at::randn(shape, generator, at::TensorOptions().dtype(at::kFloat))
      .mul_(0.1)
      .requires_grad_(true);
}

torch::jit::Module MakeScript(const std::string& code, const NamedTensors& parameters,
                              const NamedTensors& buffers) {
  static int64_t made = 0;
  torch::jit::Module module(absl::StrCat("__torch__.Test", ++made));
  if (!module.hasattr("training")) {
    module.register_attribute("training", c10::BoolType::get(), true);
  }
  for (const auto& [name, tensor] : parameters) module.register_parameter(name, tensor, false);
  for (const auto& [name, tensor] : buffers) module.register_buffer(name, tensor);
  if (!code.empty()) module.define(code);
  return module;
}

torch::jit::Module MakeScriptList(const std::vector<torch::jit::Module>& blocks) {
  torch::jit::Module list = MakeScript("", {});
  for (size_t i = 0; i < blocks.size(); ++i) list.register_module(absl::StrCat(i), blocks[i]);
  torch::jit::Module root = MakeScript("", {});
  root.register_module("blocks", list);
  return root;
}

std::string SaveScript(const torch::jit::Module& module) {
  std::ostringstream out;
  module.save(out);
  return out.str();
}

std::string TinyScript(double dropout) {
  const at::Tensor table = RandomParameter({61, 32}, 1);
  const auto embedding = MakeScript(R"(
def forward(self, tokens, positions):
    x = torch.embedding(self.table, tokens) + torch.embedding(self.places, positions)
    return x, (positions.float() + 1).rsqrt().unsqueeze(1)
)",
                                    {{"table", table}, {"places", RandomParameter({16, 32}, 2)}});
  const auto layer = MakeScript(absl::StrCat(R"(
def forward(self, x, share):
    y = torch.layer_norm(x, [32], self.gain, self.shift)
    y = torch.gelu(torch.matmul(y, self.up) + self.bias)
    y = torch.dropout(torch.matmul(y, self.down), )",
                                             absl::StrFormat("%.6f", dropout), R"(, self.training)
    return x + y * share, x.mean(1, True) * self.scale
)"),
                                {{"gain", at::ones({32}).requires_grad_(true)},
                                 {"shift", at::zeros({32}).requires_grad_(true)},
                                 {"up", RandomParameter({32, 96}, 3)},
                                 {"bias", at::zeros({96}).requires_grad_(true)},
                                 {"down", RandomParameter({96, 32}, 4)}},
                                {{"scale", at::ones({1})}});
  const auto head = MakeScript(R"(
def forward(self, x, mean, labels):
    logits = torch.matmul(x + mean * self.mix, self.table.t())
    return torch.cross_entropy_loss(logits.flatten(0, 1), labels.flatten(), None, 2, -100)
)",
                               {{"table", table}, {"mix", at::zeros({32}).requires_grad_(true)}});
  return SaveScript(MakeScriptList({embedding, layer, head}));
}

}  // namespace muster::trainer
