#include "operator/queue/record/recorded_gang_nodes.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"

namespace muster::control {

uint32_t GangNodesTable::NumberOf(const std::shared_ptr<const GangNodes>& nodes) {
  if (nodes == nullptr) return 0;
  const auto [at, is_new] =
      numbers_.try_emplace(nodes.get(), static_cast<uint32_t>(numbers_.size() + 1));
  if (!is_new) return at->second;
  auto* one = into_->add_gang_nodes();
  one->mutable_closed()->Assign(nodes->closed.begin(), nodes->closed.end());
  for (const GangNodes::Bound& bound : nodes->bounds) {
    auto* put = one->add_bounds();
    put->set_node(bound.node);
    put->set_workers(bound.workers);
  }
  one->set_left_out(nodes->left_out);
  one->set_social(nodes->inter_pod_constraints);
  return at->second;
}

absl::StatusOr<GangNodesList> GetGangNodes(const v1alpha1::RecordedInput& recorded) {
  GangNodesList list = {nullptr};
  const auto known = [&](int node) { return node >= 0 && node < recorded.nodes_size(); };
  for (const auto& one : recorded.gang_nodes()) {
    auto nodes = std::make_shared<GangNodes>();
    nodes->closed.assign(one.closed().begin(), one.closed().end());
    nodes->left_out = one.left_out();
    nodes->inter_pod_constraints = one.social();
    for (const auto& bound : one.bounds()) nodes->bounds.push_back({bound.node(), bound.workers()});
    const bool sound =
        std::all_of(nodes->closed.begin(), nodes->closed.end(), known) &&
        std::all_of(nodes->bounds.begin(), nodes->bounds.end(),
                    [&](const GangNodes::Bound& bound) { return known(bound.node); });
    if (!sound) return absl::DataLossError("a gang names nodes that the cluster does not have");
    list.push_back(std::move(nodes));
  }
  return list;
}

}  // namespace muster::control
