#include "agent/worker/ranks/gpu_plan.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/hardware/visible_gpus.h"

namespace muster::agent {
namespace {

using Distances = std::vector<std::vector<int>>;

std::vector<size_t> VisitFrom(size_t first, const Distances& distances, size_t count) {
  std::vector<bool> visited(distances.size(), false);
  std::vector<size_t> order;
  for (size_t next = first; order.size() < count;) {
    order.push_back(next);
    visited[next] = true;
    int nearest = INT_MAX;
    for (size_t i = 0; i < distances.size(); ++i) {
      const int distance = distances[order.back()][i];
      if (visited[i] || distance >= nearest) continue;
      nearest = distance;
      next = i;
    }
  }
  return order;
}

int RingLength(const std::vector<size_t>& order, const Distances& distances) {
  int length = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    length += distances[order[i]][order[(i + 1) % order.size()]];
  }
  return length;
}

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

std::vector<size_t> OrderByLinks(const Distances& distances, size_t count) {
  count = std::min(count, distances.size());
  std::vector<size_t> best;
  int shortest = INT_MAX;
  for (size_t first = 0; first < distances.size() && count > 0; ++first) {
    std::vector<size_t> order = VisitFrom(first, distances, count);
    const int length = RingLength(order, distances);
    if (length >= shortest) continue;
    shortest = length;
    best = std::move(order);
  }
  return best;
}

}  // namespace muster::agent
