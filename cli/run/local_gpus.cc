#include "cli/run/local_gpus.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "agent/hardware/gpu_devices.h"
#include "agent/hardware/sysfs_tree.h"
#include "agent/hardware/visible_gpus.h"

namespace muster::cli {
namespace {

std::string Variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

}  // namespace

agent::GpuDevices ReadLocalGpus() {
  const std::string nvml = Variable("MUSTER_NVML", "libnvidia-ml.so.1");
  return agent::SelectChosen(agent::ReadGpuDevices(nvml, agent::SysfsTree("/sys")),
                             Variable("CUDA_VISIBLE_DEVICES", ""));
}

std::optional<std::string> WhyGpusNeverFit(const v1alpha1::TrainingJobSpec& spec,
                                           const agent::GpuDevices& gpus) {
  const v1alpha1::WorkersSpec& workers = spec.workers();
  const int64_t fewest = std::max(1, workers.has_min() ? workers.min() : workers.count());
  const int64_t there = static_cast<int64_t>(gpus.devices.size());
  if (fewest * workers.gpus() <= there) return std::nullopt;
  const std::string wanted =
      absl::StrCat("spec.workers.gpus: ", fewest, fewest == 1 ? " worker wants " : " workers want ",
                   workers.gpus(), workers.gpus() == 1 ? " GPU" : " GPUs",
                   fewest == 1 ? "" : " each", ", and this machine has ");
  if (there == 0) {
    const std::string why = gpus.absence.empty() ? "" : absl::StrCat(" (", gpus.absence, ")");
    const char* const instead = spec.has_trainer() ? ": leave workers.gpus out to train on its CPUs"
                                                   : ": leave workers.gpus out";
    return absl::StrCat(wanted, "none", why, instead);
  }
  const std::string has = absl::StrCat(wanted, there, fewest == 1 ? "" : " in all");
  if (there >= fewest) return absl::StrCat(has, ": ", there / fewest, " would do");
  return absl::StrCat(has, ": lower workers.count to ", there, " or less, and gpus to 1");
}

}  // namespace muster::cli
