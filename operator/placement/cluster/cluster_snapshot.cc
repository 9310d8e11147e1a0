#include "operator/placement/cluster/cluster_snapshot.h"

#include <algorithm>
#include <utility>

namespace muster::control {
namespace {

std::string KeyOf(const std::string& ns, const std::string& name) { return ns + "/" + name; }

void Remove(std::vector<PodPointer>& pods, const std::string& uid) {
  std::erase_if(pods, [&](const PodPointer& pod) { return pod->uid == uid; });
}

void CountPorts(const SchedulingPod& pod, int sign, std::map<HostPort, int>& ports) {
  for (const HostPort& port : pod.host_ports) {
    int& count = ports[port];
    count += sign;
    if (count <= 0) ports.erase(port);
  }
}

void UpdateFree(NodeState& state) {
  state.free = state.node == nullptr ? ResourceAmounts() : state.node->allocatable;
  state.free.Subtract(state.held);
}

template <typename Value>
const Value* Get(const std::shared_ptr<const Value>& pointer) {
  return pointer.get();  // kept alive by the map
}

}  // namespace

int64_t NodeState::free_pods() const {
  return node == nullptr ? 0 : node->allowed_pods - static_cast<int64_t>(pods.size());
}

void ClusterSnapshot::CountFault(const SchedulingNode& node, int sign) {
  known_nodes_ += sign;
  if (!node.complaint) return;
  int64_t& count = faults_[node.complaint->fault];
  count += sign;
  if (count == 0) faults_.erase(node.complaint->fault);
}

void ClusterSnapshot::SetNode(std::shared_ptr<const SchedulingNode> node) {
  const auto before = nodes_.Find(node->name);
  auto state =
      before == nullptr ? std::make_shared<NodeState>() : std::make_shared<NodeState>(*before);
  if (state->node != nullptr) CountFault(*state->node, -1);
  CountFault(*node, 1);
  state->node = std::move(node);
  UpdateFree(*state);
  nodes_.Set(state->node->name, state);
}

void ClusterSnapshot::RemoveNode(const std::string& name) {
  const auto before = nodes_.Find(name);
  if (before == nullptr || before->node == nullptr) return;
  CountFault(*before->node, -1);
  if (before->pods.empty() && before->nominated.empty()) {
    nodes_.Erase(name);
    return;
  }
  auto state = std::make_shared<NodeState>(*before);
  state->node = nullptr;
  nodes_.Set(name, state);
}

void ClusterSnapshot::CountClaims(const SchedulingPod& pod, int sign) {
  for (const PodClaim& claim : pod.wants().claims) {
    if (claim.ephemeral) continue;
    const std::string key = KeyOf(pod.ns, claim.name);
    const auto before = claim_users_.Find(key);
    const int users = (before == nullptr ? 0 : *before) + sign;
    if (users > 0) {
      claim_users_.Set(key, std::make_shared<const int>(users));
    } else {
      claim_users_.Erase(key);
    }
  }
}

// Puts the pod where it stands, or takes it from there.
void ClusterSnapshot::Count(const PodPointer& pod, int sign) {
  const std::string& name = pod->node.empty() ? pod->nominated : pod->node;
  const auto before = nodes_.Find(name);
  auto state =
      before == nullptr ? std::make_shared<NodeState>() : std::make_shared<NodeState>(*before);
  std::vector<PodPointer>& list = pod->node.empty() ? state->nominated : state->pods;
  if (sign > 0) {
    list.push_back(pod);
  } else {
    Remove(list, pod->uid);
  }
  if (!pod->node.empty()) {
    sign > 0 ? state->held.Add(pod->holds) : state->held.Subtract(pod->holds);
    UpdateFree(*state);
    CountPorts(*pod, sign, state->ports);
    CountClaims(*pod, sign);
    if (!pod->wants().anti_affinity.empty()) {
      sign > 0 ? anti_affine_.Set(pod->uid, pod) : anti_affine_.Erase(pod->uid);
    }
  }
  if (state->node == nullptr && state->pods.empty() && state->nominated.empty()) {
    nodes_.Erase(name);
  } else {
    nodes_.Set(name, state);
  }
}

void ClusterSnapshot::SetPod(PodPointer pod) {
  RemovePod(pod->uid);
  if (pod->ended || (pod->node.empty() && pod->nominated.empty())) return;
  Count(pod, 1);
  const std::string uid = pod->uid;
  pods_.Set(uid, std::move(pod));
}

void ClusterSnapshot::RemovePod(const std::string& uid) {
  const PodPointer pod = pods_.Find(uid);
  if (pod == nullptr) return;
  Count(pod, -1);
  pods_.Erase(uid);
}

void ClusterSnapshot::Assume(const SchedulingPod& pod, const std::string& node) {
  auto bound = std::make_shared<SchedulingPod>(pod);
  bound->node = node;
  bound->nominated.clear();
  SetPod(std::move(bound));
}

void ClusterSnapshot::SetNamespace(const std::string& name, LabelMap labels) {
  namespaces_.Set(name, std::make_shared<const LabelMap>(std::move(labels)));
}
void ClusterSnapshot::RemoveNamespace(const std::string& name) { namespaces_.Erase(name); }

void ClusterSnapshot::SetClaim(VolumeClaim claim) {
  const std::string key = KeyOf(claim.ns, claim.name);
  claims_.Set(key, std::make_shared<const VolumeClaim>(std::move(claim)));
}
void ClusterSnapshot::RemoveClaim(const std::string& ns, const std::string& name) {
  claims_.Erase(KeyOf(ns, name));
}

void ClusterSnapshot::SetVolume(Volume volume) {
  const std::string key = volume.name;
  volumes_.Set(key, std::make_shared<const Volume>(std::move(volume)));
}
void ClusterSnapshot::RemoveVolume(const std::string& name) { volumes_.Erase(name); }

void ClusterSnapshot::SetStorageClass(StorageClass storage_class) {
  const std::string key = storage_class.name;
  classes_.Set(key, std::make_shared<const StorageClass>(std::move(storage_class)));
}
void ClusterSnapshot::RemoveStorageClass(const std::string& name) { classes_.Erase(name); }

void ClusterSnapshot::SetAttachLimits(AttachLimits limits) {
  const std::string key = limits.node;
  limits_.Set(key, std::make_shared<const AttachLimits>(std::move(limits)));
}
void ClusterSnapshot::RemoveAttachLimits(const std::string& node) { limits_.Erase(node); }

void ClusterSnapshot::SetAttachment(VolumeAttachment attachment) {
  const std::string key = attachment.name;
  attachments_.Set(key, std::make_shared<const VolumeAttachment>(std::move(attachment)));
}
void ClusterSnapshot::RemoveAttachment(const std::string& name) { attachments_.Erase(name); }

void ClusterSnapshot::SetDriver(StorageDriver driver) {
  const std::string key = driver.name;
  drivers_.Set(key, std::make_shared<const StorageDriver>(std::move(driver)));
}
void ClusterSnapshot::RemoveDriver(const std::string& name) { drivers_.Erase(name); }

void ClusterSnapshot::SetCapacity(StorageCapacity capacity) {
  const std::string key = KeyOf(capacity.ns, capacity.name);
  capacities_.Set(key, std::make_shared<const StorageCapacity>(std::move(capacity)));
}
void ClusterSnapshot::RemoveCapacity(const std::string& ns, const std::string& name) {
  capacities_.Erase(KeyOf(ns, name));
}

const NodeState* ClusterSnapshot::FindNode(const std::string& name) const {
  const NodeState* state = Get(nodes_.Find(name));
  return state == nullptr || state->node == nullptr ? nullptr : state;
}
const LabelMap* ClusterSnapshot::FindNamespace(const std::string& name) const {
  return Get(namespaces_.Find(name));
}
const VolumeClaim* ClusterSnapshot::FindClaim(const std::string& ns,
                                              const std::string& name) const {
  return Get(claims_.Find(KeyOf(ns, name)));
}
const Volume* ClusterSnapshot::FindVolume(const std::string& name) const {
  return Get(volumes_.Find(name));
}
const StorageClass* ClusterSnapshot::FindStorageClass(const std::string& name) const {
  return Get(classes_.Find(name));
}
const AttachLimits* ClusterSnapshot::FindAttachLimits(const std::string& node) const {
  return Get(limits_.Find(node));
}
const StorageDriver* ClusterSnapshot::FindDriver(const std::string& name) const {
  return Get(drivers_.Find(name));
}
int ClusterSnapshot::ClaimUsers(const std::string& ns, const std::string& claim) const {
  const auto users = claim_users_.Find(KeyOf(ns, claim));
  return users == nullptr ? 0 : *users;
}

}  // namespace muster::control
