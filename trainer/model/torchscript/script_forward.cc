#include "trainer/model/torchscript/script_forward.h"

#include <algorithm>
#include <optional>

#include "ATen/core/class_type.h"
#include "ATen/core/function.h"
#include "ATen/core/function_schema.h"
#include "ATen/core/jit_type.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

constexpr char kForward[] = "forward";

absl::Status Refuse(const std::string& block, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("block ", block, ": ", why));
}

bool IsOfBatch(const std::string& name) {
  return name == kTokensArgument || name == kLabelsArgument || name == kPositionsArgument;
}

// Returns how many tensors a value of this type is; nothing if it is something else.
std::optional<size_t> CountTensors(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::TensorType) return 1;
  if (type.kind() != c10::TypeKind::TupleType) return std::nullopt;
  const auto elements = type.containedTypes();
  const bool tensors = std::all_of(elements.begin(), elements.end(), [](const auto& element) {
    return element->kind() == c10::TypeKind::TensorType;
  });
  return tensors && !elements.empty() ? std::optional(elements.size()) : std::nullopt;
}

std::string Count(size_t count, const char* what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

absl::Status CheckLast(const std::string& name, const ScriptForward& forward) {
  const auto& taken = forward.of_batch;
  if (std::find(taken.begin(), taken.end(), kLabelsArgument) == taken.end()) {
    return Refuse(name,
                  "forward, as the last one, must take an argument labels and return the loss, "
                  "summed over the labels that are not -100");
  }
  if (forward.outputs == 1) return absl::OkStatus();
  return Refuse(name, absl::StrCat("forward, as the last one, returns ", forward.outputs,
                                   " tensors: it must return the loss alone"));
}

}  // namespace

bool HasForward(const ScriptModule& module) {
  return module->type()->findMethod(kForward) != nullptr;
}

absl::StatusOr<ScriptForward> ReadForward(const NamedModule& block) {
  if (!HasForward(block.module)) return Refuse(block.name, "it has no method forward");
  const c10::FunctionSchema& schema = block.module->type()->getMethod(kForward).getSchema();
  ScriptForward forward;
  for (size_t i = 1; i < schema.arguments().size(); ++i) {  // the first is self
    const c10::Argument& argument = schema.arguments()[i];
    const bool of_batch = IsOfBatch(argument.name());
    if (!of_batch && argument.default_value().has_value()) continue;
    if (!c10::TensorType::get()->isSubtypeOf(*argument.type())) {
      return Refuse(block.name, absl::StrCat("forward takes ", argument.name(), " of type ",
                                             argument.type()->annotation_str(),
                                             ": arguments are tensors, or have a default value"));
    }
    (of_batch ? forward.of_batch : forward.inputs).push_back(argument.name());
  }
  const c10::TypePtr returned =
      schema.returns().size() == 1 ? schema.returns()[0].type() : c10::NoneType::get();
  const std::optional<size_t> outputs = CountTensors(*returned);
  if (!outputs) {
    return Refuse(block.name, absl::StrCat("forward returns ", returned->annotation_str(),
                                           ": it must return a Tensor or a tuple of them"));
  }
  forward.outputs = *outputs;
  return forward;
}

absl::Status CheckChain(const std::vector<std::string>& names,
                        const std::vector<ScriptForward>& forwards) {
  size_t arriving = 0;
  for (size_t b = 0; b < forwards.size(); ++b) {
    const std::vector<std::string>& inputs = forwards[b].inputs;
    if (inputs.size() != arriving) {
      return Refuse(
          names[b],
          absl::StrCat("forward takes ", Count(inputs.size(), "tensor"), " besides tokens, labels ",
                       "and positions", inputs.empty() ? "" : " (", absl::StrJoin(inputs, ", "),
                       inputs.empty() ? "" : ")", ", and ",
                       b == 0 ? std::string("no block is before it")
                              : absl::StrCat("block ", names[b - 1], " returns ", arriving)));
    }
    arriving = forwards[b].outputs;
  }
  return CheckLast(names.back(), forwards.back());
}

}  // namespace muster::trainer
