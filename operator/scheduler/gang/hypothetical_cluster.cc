#include "operator/scheduler/gang/hypothetical_cluster.h"

#include <cstddef>

namespace muster::control {
HypotheticalCluster::HypotheticalCluster(ClusterModel& model)
    : model_(model), tree_(model.Tree()), snapshot_(model.snapshot()), states_(model.states()) {}

HypotheticalCluster::~HypotheticalCluster() {
  for (const auto& [node, amount] : freed_) tree_.Charge(node, amount);
}

void HypotheticalCluster::Remove(const kube::ObjectKey& pod) {
  const auto [counted, node] = model_.CountedOn(pod);
  const auto index = counted == nullptr ? std::nullopt : tree_.FindNode(node);
  if (!index) return;
  NodePointer& state = states_[static_cast<size_t>(*index)];
  const Resources before = FreeOn(*state);
  snapshot_.RemovePod(counted, node);
  state = snapshot_.ShareNode(node);
  const Resources freed = FreeOn(*state) - before;
  tree_.Charge(*index, -freed);
  freed_.push_back({*index, freed});
}

void HypotheticalCluster::Add(const PodPointer& pod, const std::string& node) {
  const auto index = tree_.FindNode(node);
  if (!index) return;
  snapshot_.AddPod(pod, node);
  states_[static_cast<size_t>(*index)] = snapshot_.ShareNode(node);
}

}  // namespace muster::control
