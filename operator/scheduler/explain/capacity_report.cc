#include "operator/scheduler/explain/capacity_report.h"

#include <algorithm>

#include "operator/placement/filter/refusal.h"
#include "operator/scheduler/cluster/node_health.h"

namespace muster::control {
namespace {

constexpr char kUsable[] = "Usable";
constexpr FilterReason kClosing[] = {FilterReason::kNodeFaulty, FilterReason::kNodeLeaving,
                                     FilterReason::kNodeNotReady, FilterReason::kNodeUnschedulable};

std::string StateOf(const NodeRecord* node, bool schedulable) {
  if (schedulable || node == nullptr) return kUsable;
  for (const NodeUnavailability& trouble : UnavailabilitiesOf(*node)) {
    if (trouble.closes()) return std::string(Name(trouble.reason));
  }
  return kUsable;
}

}  // namespace

std::vector<std::string> NodeStates() {
  std::vector<std::string> states = {kUsable};
  for (const FilterReason reason : kClosing) states.emplace_back(Name(reason));
  return states;
}

CapacityReport ReportCapacity(ClusterModel& model) {
  CapacityReport report;
  for (const std::string& state : NodeStates()) report.nodes[state] = 0;
  const TopologyTree& tree = model.Tree();
  const auto& hosts = tree.level(tree.node_level());
  for (size_t i = 0; i < hosts.size(); ++i) {
    const TopologyTree::Node& node = tree.node(static_cast<int>(i));
    const std::string state = StateOf(model.FindNode(hosts[i].name), node.schedulable);
    ++report.nodes[state];
    // Skips the GPUs of a faulty node, because the number that it reports cannot be trusted.
    if (state == Name(FilterReason::kNodeFaulty)) continue;
    const int64_t all = std::max<int64_t>(node.allocatable.gpus, 0);
    const int64_t free = std::clamp<int64_t>(node.free.gpus, 0, all);
    report.gpus_used += all - free;
    int64_t& kind = state != kUsable ? report.gpus_closed
                    : free < all     ? report.gpus_fragmented
                                     : report.gpus_free;
    kind += free;
  }
  return report;
}

}  // namespace muster::control
