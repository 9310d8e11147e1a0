#include "operator/scheduler/gang/whole_nodes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "operator/placement/cluster/spot_labels.h"
#include "operator/placement/cluster/tree_amounts.h"
#include "operator/placement/topology_labels.h"
#include "operator/queue/feasibility_key.h"
#include "operator/scheduler/cluster/cluster_model.h"

namespace muster::control {
namespace {

// Returns true for taints that come and go with a node's state; others describe the kind of node.
bool IsPassing(const NodeTaint& taint) {
  return absl::StartsWith(taint.key, "node.kubernetes.io/") ||
         absl::StartsWith(taint.key, "node.cloudprovider.kubernetes.io/") ||
         absl::EndsWith(taint.key, "ClusterAutoscaler") ||
         absl::StrContains(taint.key, "termination") || absl::StrContains(taint.key, "preempt");
}

std::shared_ptr<const SchedulingNode> Opened(const SchedulingNode& node) {
  auto open = std::make_shared<SchedulingNode>(node);
  open->unschedulable = false;
  open->ready = true;
  std::erase_if(open->taints, IsPassing);
  if (open->complaint) open->allocatable = {};
  open->complaint.reset();
  open->faults = {};
  return open;
}

Resources AmountsOf(const SchedulingNode& node) {
  return TreeAmounts(node.allocatable, node.allowed_pods);
}

bool HasLess(const SchedulingNode& now, const SchedulingNode& before) {
  const Resources a = AmountsOf(now);
  const Resources b = AmountsOf(before);
  return a.gpus < b.gpus || a.cpu_millis < b.cpu_millis || a.memory_bytes < b.memory_bytes ||
         a.slots < b.slots;
}

// Returns the pod without the constraints that depend on other pods or on volumes.
SchedulingPod Alone(const SchedulingPod& pod) {
  SchedulingPod alone = pod;
  alone.node.clear();
  alone.nominated.clear();
  auto wants = std::make_shared<PodConstraints>();
  wants->node_selector = pod.wants().node_selector;
  wants->node_affinity = pod.wants().node_affinity;
  wants->tolerations = pod.wants().tolerations;
  alone.constraints = std::move(wants);
  return alone;
}

}  // namespace

WholeNodes::WholeNodes(absl::Duration remembered, size_t most_gone)
    : remembered_(remembered), most_gone_(most_gone) {}

void WholeNodes::SetLevels(std::optional<std::vector<std::string>> keys) {
  levels_ = std::move(keys);
  cluster_.reset();
  fit_.clear();
  fit_nowhere_.clear();
  ++version_;
}

void WholeNodes::Count(const std::string& name, Node& node,
                       std::shared_ptr<const SchedulingNode> as) {
  if (node.seen != nullptr && as != nullptr && *node.seen == *as) return;
  // A gang that fits still fits when a node is added.
  if (node.seen != nullptr) fit_.clear();
  fit_nowhere_.clear();
  cluster_.reset();
  ++version_;
  if (as == nullptr) {
    snapshot_.RemoveNode(name);
  } else {
    snapshot_.SetNode(as);
  }
  node.seen = std::move(as);
}

void WholeNodes::Put(absl::Time now, const std::string& name,
                     const std::shared_ptr<const SchedulingNode>& node) {
  if (node == nullptr && nodes_.count(name) == 0) return;
  Node& known = nodes_[name];
  known.is = node == nullptr ? nullptr : Opened(*node);
  const bool keep =
      known.seen != nullptr && (known.is == nullptr || HasLess(*known.is, *known.seen));
  if (keep && known.until < absl::InfiniteFuture()) return;
  ends_.erase({known.until, name});
  known.until = keep ? now + remembered_ : absl::InfiniteFuture();
  if (!keep) return Count(name, known, known.is);
  ends_.emplace(known.until, name);
  DropOldest();
}

void WholeNodes::DropOldest() {
  while (ends_.size() > most_gone_) Forget(ends_.begin()->first);
}

void WholeNodes::Forget(absl::Time now) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    const std::string name = ends_.begin()->second;
    ends_.erase(ends_.begin());
    Node& node = nodes_.at(name);
    node.until = absl::InfiniteFuture();
    Count(name, node, node.is);
    if (node.is == nullptr) nodes_.erase(name);
  }
}

void WholeNodes::Build() {
  std::vector<LabelledNode> labelled;
  for (const auto& [name, node] : nodes_) labelled.push_back({name, node.seen->labels});
  Topology topology = levels_ ? ReadTopology(labelled, *levels_) : ReadTopology(labelled);
  Inventory inventory;
  inventory.levels = topology.levels;
  for (size_t i = 0; i < labelled.size(); ++i) {
    const SchedulingNode& seen = *nodes_.at(labelled[i].name).seen;
    const Resources all = AmountsOf(seen);
    NodeInventory node{labelled[i].name, all, true, std::move(topology.paths[i]), all, ""};
    node.spot = IsSpotNode(seen.labels);
    if (node.spot) node.spot_pool = SpotPoolOf(seen.labels);
    inventory.nodes.push_back(std::move(node));
  }
  cluster_.emplace(std::move(inventory));
  states_.clear();
  const TopologyTree& tree = cluster_->tree();
  for (const auto& host : tree.level(tree.node_level())) {
    states_.push_back(snapshot_.ShareNode(host.name));
  }
}

std::string WholeNodes::ShapeOf(const GangRequest& request, const SchedulingPod& pod) {
  return absl::StrCat(FeasibilityKey(request), "\n", TemplateKey(Alone(pod)));
}

bool WholeNodes::FitsNowhere(const std::string& shape, const GangRequest& request,
                             const SchedulingPod& pod) {
  if (fit_.contains(shape)) return false;
  if (fit_nowhere_.contains(shape)) return true;
  if (!cluster_) Build();
  const FilteredNodes filtered =
      filters_.NodesFor(Alone(pod), snapshot_, cluster_->tree(), states_, PlacedByMuster());
  const bool fits = cluster_->HasPlaceFor(request, shape, filtered.nodes.get());
  (fits ? fit_ : fit_nowhere_).insert(shape);
  return !fits;
}

}  // namespace muster::control
