#include "operator/runtime/pod_gate.h"

#include <utility>

namespace muster::control {

std::shared_ptr<const GangNodes> NodesForGangOf(ClusterModel& model, const SchedulingPod& pod) {
  const FilteredNodes filtered = model.NodesFor(pod);
  if (filtered.of_node_alone || filtered.nodes->bounds.empty()) return filtered.nodes;
  GangNodes nodes = *filtered.nodes;
  nodes.bounds.clear();
  return std::make_shared<const GangNodes>(std::move(nodes));
}

const PodRecord* PodGate::PodOf(const std::string& job_uid) const {
  const auto found = model_.gangs().find(job_uid);
  if (found == model_.gangs().end()) return nullptr;
  const Gang& gang = found->second;
  if (!gang.unbound.empty()) return gang.unbound.begin()->second.get();
  return gang.bound.empty() ? nullptr : gang.bound.begin()->second.pod.get();
}

std::shared_ptr<const GangNodes> PodGate::NodesFor(const std::string& job_uid) {
  const PodRecord* pod = PodOf(job_uid);
  return pod == nullptr ? nullptr : NodesForGangOf(model_, *pod->scheduling);
}

bool PodGate::IsOfNodeAlone(const std::string& job_uid) const {
  const PodRecord* pod = PodOf(job_uid);
  return pod == nullptr || model_.IsOfNodeAlone(*pod->scheduling);
}

}  // namespace muster::control
