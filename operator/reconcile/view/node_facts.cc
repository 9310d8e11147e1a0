#include "operator/reconcile/view/node_facts.h"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "operator/core/state/spec_values.h"
#include "operator/cost/node_rates.h"
#include "proto/muster/v1alpha1/memory_copies.h"

namespace muster::control {
namespace {

WorkerRates RatesOf(const NodeSources& sources, const PodRecord& pod, const NodeRecord& node) {
  static const auto& none = *new PriceTable();
  const std::optional<double> gpu_watts =
      sources.power == nullptr ? std::nullopt : sources.power->GpuWatts(node.name);
  const std::string fault = PriceLabelFault(*node.scheduling);
  if (!fault.empty()) {
    MUSTER_LOG_LIMITED(WARN, absl::StrCat(node.name, fault), "price of a node ignored",
                       {"node", node.name}, {"why", fault});
  }
  return RatesOnNode(pod.scheduling->holds, *node.scheduling,
                     sources.prices == nullptr ? none : *sources.prices, gpu_watts);
}

std::optional<NodeGpuUse> GpuUseOf(const NodeSources& sources, const PodRecord& pod,
                                   const NodeRecord& node) {
  if (sources.power == nullptr) return std::nullopt;
  const double share = GpuShare(pod.scheduling->holds, *node.scheduling);
  const std::optional<double> use = sources.power->GpuUse(node.name);
  if (!use || !(share > 0)) return std::nullopt;
  return NodeGpuUse{.use = *use, .share = share};
}

}  // namespace

void NoteNode(const NodeSources& sources, const PodRecord& record, PodView& pod) {
  if (sources.nodes == nullptr || pod.node.empty()) return;
  const NodeCache::Object node = sources.nodes->Get({"", pod.node});
  if (node == nullptr) {
    pod.node_conditions = {{"Ready", "Unknown", kNodeDeleted}};
    return;
  }
  pod.node_conditions = node->conditions;
  pod.node_taints = node->taints;
  pod.node_notice = node->notice;
  pod.gpu_fault = node->scheduling->faults.gpus;
  pod.network_fault = node->scheduling->faults.network;
  if (pod.network_fault.empty() && record.scheduling->uses_rdma()) {
    pod.network_fault = node->scheduling->faults.rdma;
  }
  pod.machine_fault = node->scheduling->faults.machine;
  pod.rates = RatesOf(sources, record, *node);
  pod.gpu_use = GpuUseOf(sources, record, *node);
}

void NoteDomains(const std::vector<LabelledNode>& nodes, std::vector<PodView>& pods) {
  const Topology topology = ReadTopology(nodes);
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < nodes.size(); ++i) places[nodes[i].name] = i;
  for (PodView& pod : pods) {
    const auto place = places.find(pod.node);
    if (place != places.end()) pod.node_domains = topology.paths[place->second];
  }
}

void NoteNodeDomains(const NodeSources& sources, JobView& view) {
  const bool wanted = v1alpha1::WantsReplicas(view.spec) || SpareCount(view.spec) > 0 ||
                      !view.spec.topology().link_test().empty();
  if (sources.nodes == nullptr || !wanted) return;
  std::set<std::string> names;
  std::vector<LabelledNode> nodes;
  for (const PodView& pod : view.pods) {
    if (pod.node.empty() || !names.insert(pod.node).second) continue;
    const NodeCache::Object node = sources.nodes->Get({"", pod.node});
    if (node != nullptr) nodes.push_back({pod.node, node->scheduling->labels});
  }
  NoteDomains(nodes, view.pods);
}

}  // namespace muster::control
