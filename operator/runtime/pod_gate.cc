#include "operator/runtime/pod_gate.h"

namespace muster::control {

const PodRecord* PodGate::PodOf(const std::string& job_uid) const {
  const auto found = model_.gangs().find(job_uid);
  if (found == model_.gangs().end()) return nullptr;
  const Gang& gang = found->second;
  if (!gang.unbound.empty()) return gang.unbound.begin()->second.get();
  return gang.bound.empty() ? nullptr : gang.bound.begin()->second.pod.get();
}

std::shared_ptr<const GangNodes> PodGate::NodesFor(const std::string& job_uid) {
  const PodRecord* pod = PodOf(job_uid);
  return pod == nullptr ? nullptr : model_.NodesFor(*pod->scheduling).nodes;
}

bool PodGate::IsOfNodeAlone(const std::string& job_uid) const {
  const PodRecord* pod = PodOf(job_uid);
  return pod == nullptr || model_.NodesFor(*pod->scheduling).of_node_alone;
}

}  // namespace muster::control
