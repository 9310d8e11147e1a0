#include "trainer/model/torchscript/script_block.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

#include "ATen/CPUGeneratorImpl.h"
#include "ATen/core/class_type.h"
#include "ATen/core/function.h"
#include "ATen/core/grad_mode.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "c10/util/Exception.h"
#include "torch/csrc/jit/python/update_graph_executor_opt.h"
#include "trainer/model/torchscript/state_watch.h"

namespace muster::trainer {
namespace {

// A pass owns LibTorch's generator while it runs. Lives as long as the process.
Mutex& GeneratorTurn() {
  static auto* mu = new Mutex();
  return *mu;
}

void SeedGenerator(const MicroBatchContext& context, int block) {
  const std::array<int64_t, 4> key = {static_cast<int64_t>(context.seed), context.step,
                                      context.samples.empty() ? 0 : context.samples.front(), block};
  const uint64_t seed = Hash64({reinterpret_cast<const char*>(key.data()), sizeof(key)});
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
}

// Runs operators one by one while it lives. The setting is the thread's.
class PlainExecution {
 public:
  PlainExecution() : before_(torch::jit::getGraphExecutorOptimize()) {
    torch::jit::setGraphExecutorOptimize(false);
  }
  ~PlainExecution() { torch::jit::setGraphExecutorOptimize(before_); }
  PlainExecution(const PlainExecution&) = delete;
  PlainExecution& operator=(const PlainExecution&) = delete;

 private:
  const bool before_;
};

const at::Tensor& OfBatch(const std::string& name, const MicroBatchContext& context) {
  if (name == kTokensArgument) return context.tokens;
  return name == kLabelsArgument ? context.labels : context.positions;
}

int64_t VersionsOfBatch(const MicroBatchContext& context) {
  return context.tokens._version() + context.labels._version() + context.positions._version();
}

// Returns `labels` with those from the `from`-th valid one up to the `to`-th alone.
at::Tensor KeepLabels(const at::Tensor& labels, int64_t from, int64_t to) {
  const at::Tensor valid = labels.ne(kIgnoredLabel);
  const at::Tensor place = valid.flatten().cumsum(0).sub(1).view_as(valid);
  return labels.masked_fill(place.lt(from).logical_or(place.ge(to)), kIgnoredLabel);
}

}  // namespace

ScriptBlock::ScriptBlock(Parts parts)
    : root_(std::move(parts.root)),
      name_(std::move(parts.name)),
      module_(std::move(parts.module)),
      index_(parts.index),
      is_last_(parts.is_last),
      forward_(std::move(parts.forward)) {
  for (ScriptParameter& parameter : parts.parameters) {
    specs_.push_back(std::move(parameter.spec));
    places_.push_back(std::move(parameter.slots));
  }
  for (ScriptSlot& slot : SlotsOf(module_)) {
    if (slot.owner->type()->getAttributeName(slot.index) == "training") continue;
    watched_.push_back(std::move(slot));
  }
}

void ScriptBlock::Bind(std::vector<at::Tensor> views) {
  for (size_t i = 0; i < views.size(); ++i) {
    for (const ScriptSlot& slot : places_[i]) slot.owner->setSlot(slot.index, views[i]);
  }
}

BlockOutput ScriptBlock::Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) {
  TORCH_CHECK_VALUE(context.labels.defined(), kScriptField,
                    ": the model returns a loss and no logits, so it does not generate");
  BlockOutput output{.tensors = Run(inputs, context)};
  CheckOutputs(output.tensors);
  if (!is_last_) return output;
  CheckLoss(output.tensors[0], context.training);
  if (context.training && !sum_checked_) CheckSum(inputs, context);
  return output;
}

std::vector<at::Tensor> ScriptBlock::Run(const std::vector<at::Tensor>& inputs,
                                         const MicroBatchContext& context) {
  const StateWatch watch(watched_, /*contents=*/context.training && !contents_checked_);
  const int64_t versions = VersionsOfBatch(context);
  std::vector<at::Tensor> outputs = Call(inputs, context, context.training);
  const std::string written = watch.FirstWritten();
  TORCH_CHECK_VALUE(written.empty(), kScriptField, ": forward writes to ", written,
                    ", which ranks would not agree on and checkpoints do not hold: only parameters "
                    "may change, and by the optimizer alone (of a BatchNorm, set "
                    "track_running_stats=False)");
  TORCH_CHECK_VALUE(versions == VersionsOfBatch(context), kScriptField,
                    ": forward writes to tokens, labels or positions, which other blocks read: "
                    "clone them first");
  contents_checked_ |= context.training;
  return outputs;
}

std::vector<at::Tensor> ScriptBlock::Call(const std::vector<at::Tensor>& inputs,
                                          const MicroBatchContext& context, bool training) {
  torch::jit::Kwargs arguments;
  for (const std::string& name : forward_.of_batch) arguments[name] = OfBatch(name, context);
  TORCH_CHECK(inputs.size() == forward_.inputs.size(), "forward takes ", forward_.inputs.size(),
              " tensors of the block before, and got ", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) arguments[forward_.inputs[i]] = inputs[i];
  SetTraining(module_.module, training);  // every time, because blocks may share modules
  const PlainExecution plain;
  const MutexLock turn(GeneratorTurn());
  SeedGenerator(context, index_);
  torch::jit::Function& forward = module_.module->type()->getMethod("forward");
  const c10::IValue result = forward({module_.module}, arguments);
  if (result.isTensor()) return {result.toTensor()};
  std::vector<at::Tensor> outputs;
  for (const c10::IValue& element : result.toTupleRef().elements()) {
    outputs.push_back(element.toTensor());
  }
  return outputs;
}

void ScriptBlock::CheckOutputs(const std::vector<at::Tensor>& outputs) const {
  for (const at::Tensor& output : outputs) {
    for (size_t i = 0; i < places_.size(); ++i) {
      TORCH_CHECK_VALUE(!output.is_alias_of(places_[i].front().value().toTensor()), kScriptField,
                        ": forward returns memory that holds parameters, ", specs_[i].name,
                        " among them, and may be freed before the next block runs: return a "
                        "clone(), or declare the parameter in both blocks, tied");
    }
  }
}

void ScriptBlock::CheckLoss(const at::Tensor& loss, bool training) const {
  TORCH_CHECK_VALUE(loss.dim() == 0 && loss.is_floating_point(), kScriptField, ": the loss is a ",
                    loss.scalar_type(), " tensor of shape ", loss.sizes(),
                    ": it must be a floating-point scalar, summed over the labels that are not ",
                    kIgnoredLabel);
  TORCH_CHECK_VALUE(!training || loss.requires_grad(), kScriptField,
                    ": the loss has no gradient: it depends on no parameter and on no output of "
                    "the block before");
}

// The loss with half of the labels and that with the other half must add up to the whole: the
// engine divides by the number of valid labels of the whole step. A mean does not, and would
// silently weigh micro-batches wrongly.
void ScriptBlock::CheckSum(const std::vector<at::Tensor>& inputs,
                           const MicroBatchContext& context) {
  const int64_t valid = context.labels.ne(kIgnoredLabel).sum().item<int64_t>();
  if (valid < 2) return;
  const at::NoGradGuard no_graph;
  MicroBatchContext part = context;
  const auto loss_of = [&](int64_t from, int64_t to) {
    part.labels = KeepLabels(context.labels, from, to);
    return Call(inputs, part, /*training=*/false)[0].item<double>();
  };
  const double first = loss_of(0, valid / 2), second = loss_of(valid / 2, valid);
  const double whole = loss_of(0, valid);
  // A loss that is not finite is for the vote.
  if (!std::isfinite(first) || !std::isfinite(second) || !std::isfinite(whole)) return;
  const double allowed = 1e-3 * (std::abs(first) + std::abs(second));
  TORCH_CHECK_VALUE(std::abs(first + second - whole) <= allowed, kScriptField,
                    ": the loss is no sum over the labels that are not ", kIgnoredLabel, ": ",
                    first, " with the first half of them, ", second, " with the others, and ",
                    whole, " with all; use reduction='sum' and ignore_index=", kIgnoredLabel);
  sum_checked_ = true;
}

}  // namespace muster::trainer
