#include "trainer/model/torchscript/script_model.h"

#include <cstddef>
#include <optional>

#include "ATen/core/class_type.h"
#include "ATen/core/grad_mode.h"
#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "trainer/model/torchscript/script_block.h"
#include "trainer/model/torchscript/script_forward.h"
#include "trainer/model/torchscript/script_module.h"
#include "trainer/model/torchscript/script_parameters.h"

namespace muster::trainer {
namespace {

constexpr char kBlocks[] = "blocks";
constexpr char kOnlyBlock[] = "model";

// A file's model, checked. The vectors are by block.
struct Script {
  ScriptModule root;
  std::vector<NamedModule> blocks;
  std::vector<std::string> names;
  std::vector<ScriptForward> forwards;
  std::vector<std::vector<ScriptParameter>> parameters;
};

absl::StatusOr<std::vector<NamedModule>> FindBlocks(const ScriptModule& root) {
  if (HasForward(root)) return std::vector<NamedModule>{{"", root}};
  const std::optional<size_t> slot = root->type()->findAttributeSlot(kBlocks);
  if (slot && root->type()->getAttribute(*slot)->is_module()) {
    std::vector<NamedModule> blocks = ChildrenOf({kBlocks, root->getSlot(*slot).toObject()});
    if (!blocks.empty()) return blocks;
  }
  return absl::InvalidArgumentError(
      "the model has neither a method forward nor a list of modules named blocks");
}

absl::StatusOr<Script> Check(ScriptModule root, c10::ScalarType type) {
  Script script{.root = std::move(root)};
  MUSTER_ASSIGN_OR_RETURN(script.blocks, FindBlocks(script.root));
  MUSTER_ASSIGN_OR_RETURN(script.parameters, FindParameters(script.root, script.blocks, type));
  for (const NamedModule& block : script.blocks) {
    script.names.push_back(block.name.empty() ? kOnlyBlock : block.name);
    MUSTER_ASSIGN_OR_RETURN(script.forwards.emplace_back(),
                            ReadForward({script.names.back(), block.module}));
  }
  MUSTER_RETURN_IF_ERROR(CheckChain(script.names, script.forwards));
  return script;
}

absl::Status WithPrefix(const std::string& prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, ": ", status.message()));
}

absl::StatusOr<Script> ReadScript(Files& files, const std::string& path, c10::ScalarType type) {
  absl::StatusOr<ScriptModule> root = LoadScriptModule(files, path);
  if (!root.ok()) return root.status();
  absl::StatusOr<Script> script = Check(*std::move(root), type);
  return script.ok() ? std::move(script) : WithPrefix(path, script.status());
}

// Frees the file's values of the parameters, and makes the other tensors of FP32 `type`.
void Prepare(const Script& script, c10::ScalarType type) {
  for (const ScriptSlot& slot : SlotsOf({"", script.root})) {
    if (!slot.value().isTensor()) continue;
    const at::Tensor& tensor = slot.value().toTensor();
    if (slot.is_parameter) {
      slot.owner->setSlot(slot.index, at::empty({0}, tensor.options()));
    } else if (type == c10::kDouble && tensor.defined() && tensor.scalar_type() == c10::kFloat) {
      slot.owner->setSlot(slot.index, tensor.to(type));
    }
  }
}

}  // namespace

absl::StatusOr<Model> LoadScriptModel(Files& files, const std::string& path, c10::ScalarType type) {
  absl::StatusOr<Script> read = ReadScript(files, path, type);
  if (!read.ok()) return WithPrefix(kScriptField, read.status());
  Script& script = *read;
  Prepare(script, type);
  Model model;
  for (size_t b = 0; b < script.blocks.size(); ++b) {
    for (ScriptParameter& parameter : script.parameters[b]) parameter.value.reset();
    model.blocks.push_back(std::make_unique<ScriptBlock>(
        ScriptBlock::Parts{.root = script.root,
                           .name = std::move(script.names[b]),
                           .module = std::move(script.blocks[b]),
                           .index = static_cast<int>(b),
                           .is_last = b + 1 == script.blocks.size(),
                           .forward = std::move(script.forwards[b]),
                           .parameters = std::move(script.parameters[b])}));
  }
  model.config_json = DumpJson({{"model_type", "torchscript"}});
  return model;
}

absl::StatusOr<std::unique_ptr<ScriptWeights>> ScriptWeights::Open(Files& files,
                                                                   const std::string& path,
                                                                   c10::ScalarType type) {
  MUSTER_ASSIGN_OR_RETURN(Script script, ReadScript(files, path, type));
  std::map<std::string, at::Tensor> values;
  for (const auto& parameters : script.parameters) {
    for (const ScriptParameter& parameter : parameters) {
      values[parameter.spec.name] = parameter.value.detach();
    }
  }
  return std::unique_ptr<ScriptWeights>(new ScriptWeights(path, std::move(values)));
}

absl::Status ScriptWeights::Take(const std::string& name, const std::vector<int64_t>& shape,
                                 int64_t begin, at::Tensor elements) {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.sizes().vec() != shape) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, ": has no parameter ", name, " of the shape that it had before"));
  }
  const at::NoGradGuard no_graph;
  const at::Tensor flat = found->second.contiguous().view({-1});
  elements.copy_(flat.narrow(0, begin, elements.numel()));
  values_.erase(found);
  return absl::OkStatus();
}

}  // namespace muster::trainer
