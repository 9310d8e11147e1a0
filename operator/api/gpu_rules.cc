#include "operator/api/gpu_rules.h"

#include "operator/api/unless.h"

namespace muster::control {

std::optional<std::string> ScriptWithoutGpus(const v1alpha1::TrainingJobSpec& spec) {
  return Unless(!spec.trainer().model().has_torch_script() || spec.workers().gpus() == 0);
}

std::optional<std::string> OffloadWithoutGpus(const v1alpha1::TrainingJobSpec& spec) {
  const v1alpha1::OffloadSpec& offload = spec.trainer().parallelism().offload();
  return Unless((offload.optimizer() != "Disk" && offload.weights() != "Disk") ||
                spec.workers().gpus() == 0);
}

std::optional<std::string> RdmaOfTheTrainersGpus(const v1alpha1::TrainingJobSpec& spec) {
  return Unless(!spec.has_trainer() || !spec.workers().has_rdma() || spec.workers().gpus() > 0);
}

}  // namespace muster::control
