#include "trainer/optim/adamw_step.h"

#include <map>

#include "ATen/ops/_fused_adamw.h"
#include "ATen/ops/full.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {
namespace {

// A call of the kernel has one learning rate.
void ApplyByKernel(const AdamWKernel& kernel, const std::vector<OptimizerRun>& runs,
                   const OptimizerOptions& options, const UpdateOptions& update) {
  std::map<double, std::vector<AdamWElements>> by_rate;
  for (const OptimizerRun& run : runs) {
    by_rate[run.LearningRate(update)].push_back(
        {run.values, run.gradients, run.state[0], run.state[1], run.WeightDecay(options)});
  }
  for (const auto& [rate, elements] : by_rate) {
    kernel.Update(elements, {.update = update.update,
                             .learning_rate = rate,
                             .beta1 = options.beta1,
                             .beta2 = options.beta2,
                             .epsilon = options.epsilon,
                             .gradient_factor = update.gradient_factor});
  }
}

}  // namespace

void AdamWStep::Apply(const std::vector<OptimizerRun>& runs, const OptimizerOptions& options,
                      const UpdateOptions& update) {
  if (runs.empty()) return;
  const at::Tensor& values = runs.front().values;
  const AdamWKernel* const kernel =
      values.scalar_type() == at::kFloat ? KernelsOf(values).adamw() : nullptr;
  if (kernel != nullptr) return ApplyByKernel(*kernel, runs, options, update);
  MultiplyGradients(runs, update.gradient_factor);
  for (const OptimizerRun& run : runs) {
    const at::Tensor& count = Count(update.update, run.values);
    at::_fused_adamw_({run.values}, {run.gradients}, {run.state[0]}, {run.state[1]}, {}, {count},
                      run.LearningRate(update), options.beta1, options.beta2,
                      run.WeightDecay(options), options.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false);
  }
}

// LibTorch reads the step count from a tensor on its device, after the caller has raised it. All
// units of an update read one.
const at::Tensor& AdamWStep::Count(int64_t update, const at::Tensor& values) {
  if (!count_.defined() || counted_ != update || count_.device() != values.device()) {
    count_ = at::full({}, static_cast<double>(update), values.options().dtype(at::kFloat));
    counted_ = update;
  }
  return count_;
}

}  // namespace muster::trainer
