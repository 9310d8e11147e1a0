#include "trainer/optim/adamw_step.h"

#include "ATen/ops/_fused_adamw.h"
#include "ATen/ops/full.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {
namespace {

double DecayOf(const OptimizerRun& run, const OptimizerOptions& options) {
  return run.decay ? options.weight_decay : 0.0;
}

void ApplyByKernel(const AdamWKernel& kernel, const std::vector<OptimizerRun>& runs,
                   const OptimizerOptions& options, const UpdateOptions& update) {
  std::vector<AdamWElements> elements;
  for (const OptimizerRun& run : runs) {
    elements.push_back(
        {run.values, run.gradients, run.state[0], run.state[1], DecayOf(run, options)});
  }
  kernel.Update(elements, {.update = update.update,
                           .learning_rate = update.learning_rate,
                           .beta1 = options.beta1,
                           .beta2 = options.beta2,
                           .epsilon = options.epsilon,
                           .gradient_factor = update.gradient_factor});
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
                      update.learning_rate, options.beta1, options.beta2, DecayOf(run, options),
                      options.epsilon, /*amsgrad=*/false, /*maximize=*/false);
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
