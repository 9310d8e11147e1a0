#include "operator/queue/empty_cluster.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "operator/queue/feasibility_key.h"

namespace muster::control {
namespace {

Inventory Emptied(Inventory nodes) {
  for (NodeInventory& node : nodes.nodes) {
    node.free = node.allocatable;
    node.schedulable = true;
  }
  return nodes;
}

std::string KeyOf(const GangRequest& request, const std::string& pods) {
  return absl::StrCat(FeasibilityKey(request), "\n\n", pods);
}

}  // namespace

EmptyCluster::EmptyCluster(Inventory nodes) : tree_(Emptied(std::move(nodes))) {}

bool EmptyCluster::Knows(const GangRequest& request, const std::string& pods) const {
  return answers_.contains(KeyOf(request, pods));
}

bool EmptyCluster::HasPlaceFor(const GangRequest& request, const std::string& pods,
                               const GangNodes* nodes) {
  const auto [known, is_new] = answers_.try_emplace(KeyOf(request, pods), true);
  if (!is_new) return known->second;
  const GatedTree gated(tree_, nodes, request.per_worker);
  const auto answer = Place(tree_, request);
  const auto* no = std::get_if<Unplaceable>(&answer);
  known->second = no == nullptr || no->reason == UnplaceableReason::kInvalidRequest;
  return known->second;
}

}  // namespace muster::control
