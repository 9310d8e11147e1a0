#include "agent/worker/ranks/gpu_plan.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/hardware/link_order.h"
#include "agent/hardware/visible_gpus.h"

namespace muster::agent {
namespace {

// Returns the plan without NVML; empty unless `visible` has a UUID for each rank.
std::vector<GpuDevice> PlanByName(const std::string& visible, size_t gpus) {
  std::vector<GpuDevice> plan;
  for (absl::string_view entry : absl::StrSplit(visible, ',', absl::SkipEmpty())) {
    if (!absl::StartsWith(entry, "GPU-") && !absl::StartsWith(entry, "MIG-")) return {};
    if (plan.size() < gpus) plan.push_back({.uuid = std::string(entry)});
  }
  return plan.size() == gpus ? plan : std::vector<GpuDevice>();
}

absl::Status TooFew(const GpuDevices& mine, int gpus) {
  std::vector<std::string> seen;
  for (const GpuDevice& device : mine.devices) seen.push_back(device.uuid);
  return absl::UnavailableError(
      absl::StrCat("workers.gpus: is ", gpus, ", and this worker sees ", seen.size(),
                   seen.empty() ? "" : absl::StrCat(" (", absl::StrJoin(seen, ", "), ")"),
                   " with driver ", mine.driver_version,
                   ": each rank computes on a GPU of its own, so either the driver has lost "
                   "one, or the node offers more than it has"));
}

}  // namespace

absl::StatusOr<std::vector<GpuDevice>> PlanGpus(const GpuDevices& there, const std::string& visible,
                                                int gpus) {
  const auto wanted = static_cast<size_t>(gpus);
  if (!there.absence.empty()) return PlanByName(visible, wanted);
  const GpuDevices mine = SelectGiven(there, visible);
  if (mine.devices.size() < wanted) return TooFew(mine, gpus);
  std::vector<GpuDevice> plan;
  for (size_t place : OrderByLinks(mine.distances, wanted)) plan.push_back(mine.devices[place]);
  return plan;
}

}  // namespace muster::agent
