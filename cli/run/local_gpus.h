#ifndef MUSTER_CLI_RUN_LOCAL_GPUS_H_
#define MUSTER_CLI_RUN_LOCAL_GPUS_H_

#include <optional>
#include <string>

#include "agent/hardware/reading.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::cli {

// Returns the GPUs of this machine that `muster run` gives to its workers: those that NVML finds,
// and of these those that CUDA_VISIBLE_DEVICES names if it is set. MUSTER_NVML names another
// library of the driver than libnvidia-ml.so.1.
agent::GpuDevices ReadLocalGpus();

// Returns why the fewest workers with which the job starts can never have their GPUs here, with the
// field, what is there, and what would do; nullopt if they can. Pure.
std::optional<std::string> WhyGpusNeverFit(const v1alpha1::TrainingJobSpec& spec,
                                           const agent::GpuDevices& gpus);

}  // namespace muster::cli

#endif  // MUSTER_CLI_RUN_LOCAL_GPUS_H_
