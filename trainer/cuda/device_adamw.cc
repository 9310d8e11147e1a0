#include "trainer/cuda/device_adamw.h"

#include <vector>

#include "c10/core/DeviceGuard.h"
#include "trainer/cuda/kernels/adamw.h"

namespace muster::trainer::cuda {
namespace {

class OnDevice final : public AdamWKernel {
 public:
  explicit OnDevice(CurrentStream current) : current_(current) {}

  void Update(std::span<const AdamWElements> runs, const AdamWUpdate& update) const override {
    if (runs.empty()) return;
    const c10::Device device = runs.front().values.device();
    const c10::DeviceGuard guard(device);
    std::vector<AdamWRun> arguments;
    for (const AdamWElements& run : runs) {
      Check(run, device);
      arguments.push_back({.values = run.values.mutable_data_ptr<float>(),
                           .gradients = run.gradients.const_data_ptr<float>(),
                           .first = run.first.mutable_data_ptr<float>(),
                           .second = run.second.mutable_data_ptr<float>(),
                           .count = run.values.numel(),
                           .decay = static_cast<float>(run.decay)});
    }
    CheckLaunch(LaunchAdamW(arguments,
                            {.update = update.update,
                             .learning_rate = update.learning_rate,
                             .beta1 = update.beta1,
                             .beta2 = update.beta2,
                             .epsilon = update.epsilon,
                             .gradient_scale = update.gradient_factor},
                            current_(device)),
                "updating by AdamW");
  }

 private:
  // The types are checked where the elements are asked for.
  static void Check(const AdamWElements& run, c10::Device device) {
    for (const at::Tensor* tensor : {&run.values, &run.gradients, &run.first, &run.second}) {
      TORCH_CHECK(tensor->device() == device && tensor->is_contiguous() &&
                      tensor->numel() == run.values.numel(),
                  "AdamW updates contiguous tensors of one size on one device");
    }
  }

  const CurrentStream current_;
};

}  // namespace

std::unique_ptr<AdamWKernel> MakeDeviceAdamW(CurrentStream current) {
  return std::make_unique<OnDevice>(current);
}

}  // namespace muster::trainer::cuda
