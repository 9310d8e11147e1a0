#ifndef MUSTER_AGENT_WORKER_RANKS_GPU_PLAN_H_
#define MUSTER_AGENT_WORKER_RANKS_GPU_PLAN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/hardware/reading.h"

namespace muster::agent {

// Returns the GPU of each of a worker's `gpus` ranks, by local rank, so that ranks next to each
// other have GPUs that are near to each other. `visible` is NVIDIA_VISIBLE_DEVICES, by which a
// container runtime says which GPUs of the machine are the worker's. Where NVML is absent,
// `visible` alone decides; if it has no UUIDs either, the plan is empty, and the trainer finds out
// what it has. Unavailable, in words for the job's author, if there are fewer GPUs than ranks.
// Pure.
absl::StatusOr<std::vector<GpuDevice>> PlanGpus(const GpuDevices& there, const std::string& visible,
                                                int gpus);

// Chooses `count` of the devices with these distances (GpuDevices), at most as many as there are,
// and orders them so that neighbours are near to each other: ranks talk most with the next rank,
// the last with the first. The devices are visited from each as the first, always going to the
// nearest that is left, the first one of several; the shortest ring wins. Pure.
std::vector<size_t> OrderByLinks(const std::vector<std::vector<int>>& distances, size_t count);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANKS_GPU_PLAN_H_
