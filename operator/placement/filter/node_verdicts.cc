#include "operator/placement/filter/node_verdicts.h"

#include <cstddef>
#include <utility>

#include "operator/placement/cluster/tree_amounts.h"
#include "operator/placement/gang_capacity.h"
#include "operator/placement/inventory.h"

namespace muster::control {

std::shared_ptr<const NodeRefusal> Share(std::optional<NodeRefusal> refusal) {
  return refusal ? std::make_shared<const NodeRefusal>(*std::move(refusal)) : nullptr;
}

GangNodes GatherNodes(const SchedulingPod& pod, const std::vector<NodeVerdict>& verdicts,
                      const TopologyTree& tree) {
  GangNodes nodes;
  RefusalSummary left_out;
  const Resources each = TreeAmounts(pod.requests, 1);
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const NodeVerdict& verdict = verdicts[i];
    const NodeState& state = *verdict.state;
    const int index = static_cast<int>(i);
    const int64_t seen = WorkersThatFit(TreeAmounts(state.free, state.free_pods()), each);
    const bool schedulable = tree.node(index).schedulable;
    if (!schedulable && verdict.refusal == nullptr) {
      left_out.Add({FilterReason::kNodeLeaving});
    } else if (verdict.refusal != nullptr) {
      const bool full = seen == 0 && verdict.refusal->reason == FilterReason::kResources;
      if (schedulable && full) continue;
      left_out.Add(*verdict.refusal);
      nodes.closed.push_back(index);
    } else if (verdict.room < seen) {
      nodes.bounds.push_back({index, verdict.room});
    }
  }
  nodes.left_out = left_out.List();
  return nodes;
}

}  // namespace muster::control
