#include "operator/placement/cluster/cluster_snapshot.h"

#include <algorithm>
#include <utility>

namespace muster::control {
namespace {

std::string KeyOf(const std::string& ns, const std::string& name) { return ns + "/" + name; }

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
  auto state = std::make_shared<NodeState>(*before);
  state->node = nullptr;
  Set(name, std::move(state));
}

void ClusterSnapshot::CountIn(SharedMap<int>& counts, const std::string& key, int sign) {
  const auto before = counts.Find(key);
  const int count = (before == nullptr ? 0 : *before) + sign;
  if (count > 0) {
    counts.Set(key, std::make_shared<const int>(count));
  } else {
    counts.Erase(key);
  }
}

void ClusterSnapshot::CountClaims(const SchedulingPod& pod, int sign) {
  for (const PodClaim& claim : pod.wants().claims) {
    if (!claim.ephemeral) CountIn(claim_users_, KeyOf(pod.ns, claim.name), sign);
  }
}

void ClusterSnapshot::Set(const std::string& name, std::shared_ptr<const NodeState> state) {
  if (state->node == nullptr && state->pods.empty() && state->nominated.empty()) {
    nodes_.Erase(name);
  } else {
    nodes_.Set(name, std::move(state));
  }
}

bool ClusterSnapshot::Move(const PodPointer& pod, const std::string& name, Pods which, int sign) {
  const auto before = nodes_.Find(name);
  if (before == nullptr && sign < 0) return false;
  auto state =
      before == nullptr ? std::make_shared<NodeState>() : std::make_shared<NodeState>(*before);
  std::vector<PodPointer>& list = (*state).*which;
  if (sign > 0) {
    list.push_back(pod);
  } else {
    const auto found = std::find(list.begin(), list.end(), pod);
    if (found == list.end()) return false;
    list.erase(found);
  }
  if (which == &NodeState::pods) {
    sign > 0 ? state->held.Add(pod->holds) : state->held.Subtract(pod->holds);
    UpdateFree(*state);
    CountPorts(*pod, sign, state->ports);
  }
  Set(name, std::move(state));
  return true;
}

void ClusterSnapshot::AddPod(PodPointer pod, const std::string& node) {
  Move(pod, node, &NodeState::pods, 1);
  CountClaims(*pod, 1);
  if (!pod->wants().anti_affinity.empty()) CountIn(anti_affine_, node, 1);
}

void ClusterSnapshot::RemovePod(const PodPointer& pod, const std::string& node) {
  if (!Move(pod, node, &NodeState::pods, -1)) return;
  CountClaims(*pod, -1);
  if (!pod->wants().anti_affinity.empty()) CountIn(anti_affine_, node, -1);
}

void ClusterSnapshot::AddNominated(PodPointer pod, const std::string& node) {
  Move(pod, node, &NodeState::nominated, 1);
}

void ClusterSnapshot::RemoveNominated(const PodPointer& pod, const std::string& node) {
  Move(pod, node, &NodeState::nominated, -1);
}

void ClusterSnapshot::AddPod(PodPointer pod) {
  if (pod->ended) return;
  const std::string bound = pod->node;
  const std::string nominated = pod->nominated;
  if (!bound.empty()) {
    AddPod(std::move(pod), bound);
  } else if (!nominated.empty()) {
    AddNominated(std::move(pod), nominated);
  }
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
std::shared_ptr<const NodeState> ClusterSnapshot::ShareNode(const std::string& name) const {
  auto state = nodes_.Find(name);
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
