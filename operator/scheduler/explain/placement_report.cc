#include "operator/scheduler/explain/placement_report.h"

#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "operator/placement/gang_nodes.h"

namespace muster::control {
namespace {

std::string PathOf(const TopologyTree& tree, const std::string& node) {
  const std::optional<int> index = tree.FindNode(node);
  return index ? tree.PathOf(tree.node_level(), *index) : "";
}

// Returns the largest size that fits, including the workers that have nodes.
int Fits(TopologyTree& tree, PartialGang gang) {
  gang.request.min = 1;
  const auto answer = CompleteGang(tree, gang);
  if (const auto* no = std::get_if<Unplaceable>(&answer)) return no->nearest_feasible_size;
  return static_cast<int>(gang.placed.size() + std::get<Completion>(answer).nodes.size());
}

Relaxation Without(TopologyTree& tree, const PartialGang& gang, const char* change,
                   void (*relax)(GangRequest&)) {
  PartialGang relaxed = gang;
  relax(relaxed.request);
  return {change, Fits(tree, std::move(relaxed))};
}

void ReportHealth(const NodeRecord* node, DomainReport& report) {
  if (node == nullptr) return;
  report.troubles = UnavailabilitiesOf(*node);
  const bool closed = !report.troubles.empty() && report.troubles.front().closes();
  if (closed) report.closed[report.troubles.front().reason] = 1;
}

DomainReport Report(const ClusterModel& model, const TopologyTree& tree, int level, int index,
                    int depth) {
  const TopologyTree::Domain& domain = tree.level(level)[index];
  DomainReport report;
  report.level = tree.level_name(level);
  report.name = domain.name;
  report.free = domain.free;
  if (level == tree.node_level()) {
    report.nodes = 1;
    report.usable = tree.node(index).schedulable ? 1 : 0;
    report.allocatable = tree.node(index).allocatable;
    ReportHealth(model.FindNode(domain.name), report);
    return report;
  }
  for (int child = domain.first_child; child < domain.end_child; ++child) {
    DomainReport below = Report(model, tree, level + 1, child, depth - 1);
    report.nodes += below.nodes;
    report.usable += below.usable;
    report.allocatable += below.allocatable;
    for (const auto& [reason, nodes] : below.closed) report.closed[reason] += nodes;
    if (depth > 0) report.children.push_back(std::move(below));
  }
  return report;
}

// Adds the sizes that would fit without single conditions.
void AddRelaxations(TopologyTree& tree, const PartialGang& gang, GangReport& report) {
  if (!gang.request.required_level.empty()) {
    report.relaxations.push_back(
        Without(tree, gang, "without topology.require",
                [](GangRequest& request) { request.required_level.clear(); }));
  }
  if (!gang.request.slices.empty()) {
    report.relaxations.push_back(Without(tree, gang, "without topology.slices",
                                         [](GangRequest& request) { request.slices.clear(); }));
  }
  const bool both = report.relaxations.size() == 2;
  if (both) {
    report.relaxations.push_back(Without(tree, gang, "without both", [](GangRequest& request) {
      request.required_level.clear();
      request.slices.clear();
    }));
  }
  const SpotBounds& spot = gang.request.spot;
  if (spot.given && (spot.max_fraction < 1 || spot.on_demand_floor > 0)) {
    report.relaxations.push_back(Without(tree, gang, "without bounds in spot",
                                         [](GangRequest& request) { request.spot = {}; }));
  }
}

}  // namespace

GangReport ReportGang(ClusterModel& model, const PartialGang& gang, const PodRecord& pod) {
  TopologyTree& tree = model.Tree();
  GangReport report;
  report.request = gang.request;
  report.nodes = model.nodes();
  for (const auto& [worker, node] : gang.placed) {
    report.workers.push_back({worker, "", node, PathOf(tree, node)});
  }
  if (gang.missing.empty()) return report;
  {
    const std::shared_ptr<const GangNodes> usable = model.NodesFor(*pod.scheduling).nodes;
    const GatedTree gated(tree, usable.get(), gang.request.per_worker);
    report.left_out = usable->left_out;
    report.fits = Fits(tree, gang);
    AddRelaxations(tree, gang, report);
  }
  if (!report.left_out.empty()) {
    report.relaxations.push_back({"on any node that is ready", Fits(tree, gang)});
  }
  return report;
}

DomainReport ReportTree(ClusterModel& model, int depth) {
  return Report(model, model.Tree(), 0, 0, depth);
}

}  // namespace muster::control
