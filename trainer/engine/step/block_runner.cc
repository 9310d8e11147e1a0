#include "trainer/engine/step/block_runner.h"

#include <optional>
#include <span>
#include <vector>

#include "ATen/ops/empty.h"
#include "ATen/ops/full.h"
#include "ATen/ops/stack.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "c10/core/GradMode.h"
#include "torch/csrc/autograd/autograd.h"
#include "trainer/engine/link/message_tensor.h"
#include "trainer/engine/link/torch_errors.h"
#include "trainer/engine/step/saved_tensors.h"

namespace muster::trainer {
namespace {

template <typename F>
absl::Status Catch(const Block& block, const char* what, F&& run) {
  return CatchTorch(absl::StrCat(what, " of block ", block.name()), [&] {
    run();
    return absl::OkStatus();
  });
}

}  // namespace

void BlockRunner::Begin(std::vector<MicroBatchContext> contexts) {
  contexts_ = std::move(contexts);
  losses_.assign(contexts_.size(), at::Tensor());
  alive_.clear();
  output_gradients_.clear();
  waiting_.clear();
  delayed_->Take();
}

void BlockRunner::SplitBackward() {
  for (MicroBatchContext& context : contexts_) context.delayed = delayed_;
}

absl::Status BlockRunner::Forward(int block, int micro_batch) {
  return Catch(*model_.blocks[block], "forward", [&] { ForwardOrThrow(block, micro_batch); });
}

absl::Status BlockRunner::Backward(int block, int micro_batch) {
  if (IsRecomputed(block)) {
    MUSTER_RETURN_IF_ERROR(Catch(*model_.blocks[block], "recomputation",
                                 [&] { RecomputeOrThrow(block, micro_batch); }));
  }
  return Catch(*model_.blocks[block], "backward", [&] { BackwardOrThrow(block, micro_batch); });
}

absl::Status BlockRunner::BackwardInput(int block, int micro_batch) {
  delayed_->Hold();
  const absl::Status done = Backward(block, micro_batch);
  waiting_[{block, micro_batch}] = delayed_->Take();
  return done;
}

absl::Status BlockRunner::BackwardWeight(int block, int micro_batch) {
  return Catch(*model_.blocks[block], "backward", [&] {
    AddDelayed(waiting_.at({block, micro_batch}));
    waiting_.erase({block, micro_batch});
  });
}

const std::vector<at::Tensor>& BlockRunner::OutputsOf(int block, int micro_batch) const {
  return alive_.at({block, micro_batch}).outputs;
}

void BlockRunner::TakeOutputs(int block, int micro_batch, std::vector<at::Tensor> outputs) {
  alive_[{block, micro_batch}] = {.outputs = std::move(outputs)};
}

std::vector<at::Tensor> BlockRunner::GradientsOf(int block, int micro_batch) {
  alive_.erase({block, micro_batch});
  return std::move(output_gradients_.extract({block, micro_batch}).mapped());
}

void BlockRunner::TakeGradients(int block, int micro_batch, std::vector<at::Tensor> gradients) {
  output_gradients_[{block, micro_batch}] = std::move(gradients);
}

at::Tensor BlockRunner::LossesOnDevice(int64_t count) const {
  if (count == 0) return at::empty({0}, at::kDouble);
  return at::stack(at::TensorList(losses_.data(), static_cast<size_t>(count))).to(at::kDouble);
}

std::vector<double> BlockRunner::losses(int64_t count) const {
  const at::Tensor all = LossesOnDevice(count).cpu();
  const std::span<const double> numbers = AsSpan(all);
  return {numbers.begin(), numbers.end()};
}

void BlockRunner::ForwardOrThrow(int block, int micro_batch) {
  const MicroBatchContext& context = contexts_[static_cast<size_t>(micro_batch)];
  Boundary boundary;
  if (block > 0) {
    for (const at::Tensor& output : alive_.at({block - 1, micro_batch}).outputs) {
      at::Tensor input = output.detach();
      if (context.training && input.is_floating_point()) input.requires_grad_(true);
      boundary.inputs.push_back(std::move(input));
    }
    if (!context.training) alive_.erase({block - 1, micro_batch});
  }
  Run(block, micro_batch, context.training && !IsRecomputed(block), boundary);
  if (!context.training) boundary.inputs.clear();
  if (IsLast(block)) losses_[static_cast<size_t>(micro_batch)] = boundary.outputs[0].detach();
  alive_[{block, micro_batch}] = std::move(boundary);
}

void BlockRunner::Run(int block, int micro_batch, bool with_graph, Boundary& boundary) {
  const c10::AutoGradMode graph(with_graph);
  std::optional<SavedTensorsScope> packs;
  if (with_graph && planner::IsPacked(activations_, block, blocks())) {
    packs.emplace(activations_.format);
  }
  BlockOutput output =
      model_.blocks[block]->Forward(boundary.inputs, contexts_[static_cast<size_t>(micro_batch)]);
  boundary.outputs = std::move(output.tensors);
  boundary.auxiliary_losses = std::move(output.auxiliary_losses);
}

// The blocks after this one have had their backward passes, and the other stages the outputs.
void BlockRunner::RecomputeOrThrow(int block, int micro_batch) {
  Boundary& boundary = alive_.at({block, micro_batch});
  boundary.outputs.clear();
  boundary.auxiliary_losses.clear();
  Run(block, micro_batch, /*with_graph=*/true, boundary);
}

void BlockRunner::BackwardOrThrow(int block, int micro_batch) {
  const auto node = alive_.extract({block, micro_batch});
  Boundary boundary = std::move(node.mapped());
  std::vector<at::Tensor> roots, gradients;
  const auto add_loss = [&](const at::Tensor& loss) {
    roots.push_back(loss);
    gradients.push_back(at::full({}, loss_scale_, loss.options().requires_grad(false)));
  };
  if (IsLast(block)) {
    add_loss(boundary.outputs[0]);
  } else {
    std::vector<at::Tensor> arrived =
        std::move(output_gradients_.extract({block, micro_batch}).mapped());
    for (size_t i = 0; i < boundary.outputs.size(); ++i) {
      // A block may return what needs no gradient, such as a mask that the next one takes.
      if (!arrived[i].defined() || !boundary.outputs[i].requires_grad()) continue;
      roots.push_back(boundary.outputs[i]);
      gradients.push_back(arrived[i]);
    }
  }
  for (const at::Tensor& loss : boundary.auxiliary_losses) add_loss(loss);
  if (!roots.empty()) torch::autograd::backward(roots, gradients);
  if (block == 0) return;
  std::vector<at::Tensor>& passed_back = output_gradients_[{block - 1, micro_batch}];
  for (at::Tensor& input : boundary.inputs) passed_back.push_back(input.grad());
}

}  // namespace muster::trainer
