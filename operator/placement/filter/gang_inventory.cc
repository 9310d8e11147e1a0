#include "operator/placement/filter/gang_inventory.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "operator/placement/filter/resource_policy.h"

namespace muster::control {
namespace {

// The GPU resource that the pod asks for; empty: none.
std::string GpuResourceOf(const SchedulingPod& pod) {
  for (const auto& [name, amount] : pod.requests.scalars) {
    if (amount > 0 && IsGpuResource(name)) return name;
  }
  return "";
}

Resources ToResources(const ResourceAmounts& amounts, const std::string& gpu, int64_t slots) {
  const auto positive = [](int64_t amount) { return std::max<int64_t>(amount, 0); };
  return {gpu.empty() ? 0 : positive(amounts.scalar(gpu)), positive(amounts.cpu_millis),
          positive(amounts.memory_bytes), positive(slots)};
}

}  // namespace

Resources GangShare(const SchedulingPod& pod) {
  return ToResources(pod.requests, GpuResourceOf(pod), 1);
}

Inventory GangInventory(const SchedulingPod& pod, const ClusterSnapshot& snapshot,
                        const FilterOptions& options, RefusalSummary* summary) {
  const NodeFilter filter(pod, snapshot, options);
  const std::string gpu = GpuResourceOf(pod);
  std::vector<const NodeState*> states;
  states.reserve(static_cast<size_t>(std::max<int64_t>(snapshot.nodes(), 0)));
  snapshot.ForEachNode([&](const NodeState& state) { states.push_back(&state); });
  std::sort(states.begin(), states.end(),
            [](const NodeState* a, const NodeState* b) { return a->node->name < b->node->name; });
  Inventory inventory;
  inventory.nodes.reserve(states.size());
  for (const NodeState* state : states) {
    NodeInventory& node = inventory.nodes.emplace_back();
    node.name = state->node->name;
    const ResourceAmounts& all = state->node->allocatable;
    node.allocatable = ToResources(all, gpu, TimesIn(all, pod.requests, state->node->allowed_pods));
    const auto refusal = filter.Check(*state);
    node.schedulable = !refusal;
    if (!refusal) {
      node.free = ToResources(state->free, gpu, filter.Room(*state));
    } else if (summary != nullptr) {
      summary->Add(*refusal);
    }
  }
  return inventory;
}

}  // namespace muster::control
