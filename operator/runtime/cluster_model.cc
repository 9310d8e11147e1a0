#include "operator/runtime/cluster_model.h"

#include <algorithm>
#include <utility>

#include "operator/core/spot.h"

namespace muster::control {
namespace {

void Add(Resources& to, const Resources& amount, int sign) {
  to.gpus += sign * amount.gpus;
  to.cpu_millis += sign * amount.cpu_millis;
  to.memory_bytes += sign * amount.memory_bytes;
  to.slots += sign * amount.slots;
}

Resources Less(const Resources& a, const Resources& b) {
  return {a.gpus - b.gpus, a.cpu_millis - b.cpu_millis, a.memory_bytes - b.memory_bytes,
          a.slots - b.slots};
}

Resources NotNegative(const Resources& r) {
  return {std::max<int64_t>(r.gpus, 0), std::max<int64_t>(r.cpu_millis, 0),
          std::max<int64_t>(r.memory_bytes, 0), std::max<int64_t>(r.slots, 0)};
}

// Nothing new goes to a node that is about to be taken.
bool IsOpen(const NodeRecord& node) {
  return node.schedulable && FindNotice(node.taints) == nullptr;
}

bool IsMember(const PodRecord& pod) {
  return !pod.job.empty() && pod.scheduler_name == kSchedulerName && !pod.view.owner_uid.empty() &&
         !pod.ended() && !pod.view.deleting;
}

}  // namespace

void ClusterModel::SetLevels(std::vector<std::string> keys) {
  if (keys == levels_) return;
  levels_ = std::move(keys);
  tree_.reset();
  ++changes_;
}

void ClusterModel::PutNode(const std::string& name, const NodeCache::Object& node) {
  if (node == nullptr && nodes_.count(name) == 0) return;
  Node& entry = nodes_[name];
  const NodeCache::Object before = std::exchange(entry.record, node);
  const bool same_place = before != nullptr && node != nullptr && before->labels == node->labels &&
                          before->allocatable == node->allocatable;
  if (!same_place) {
    tree_.reset();
    ++changes_;
  } else {
    const bool same = IsOpen(*before) == IsOpen(*node) && before->taints == node->taints;
    if (!same) ++changes_;
    touched_.insert(name);
  }
  if (node == nullptr && entry.used == Resources{}) nodes_.erase(name);
}

void ClusterModel::Charge(const std::string& name, const Resources& amount, int sign) {
  Node& node = nodes_[name];
  Add(node.used, amount, sign);
  if (sign < 0) ++changes_;
  if (node.record != nullptr) {
    touched_.insert(name);
  } else if (node.used == Resources{}) {
    nodes_.erase(name);
  }
}

// One charge for each pod, where it counts now.
void ClusterModel::Settle(const kube::ObjectKey& key, Pod& pod) {
  std::string node;
  if (pod.record != nullptr && !pod.record->ended()) {
    node = pod.record->view.node;
    const auto held = held_.find(key);
    if (node.empty() && held != held_.end()) node = held->second.node;
  }
  if (node == pod.charged) return;
  if (!pod.charged.empty()) Charge(pod.charged, pod.record->requests, -1);
  pod.charged = std::move(node);
  if (!pod.charged.empty()) Charge(pod.charged, pod.record->requests, 1);
}

void ClusterModel::Leave(const PodRecord& pod) {
  const auto found = gangs_.find(pod.view.owner_uid);
  if (found == gangs_.end()) return;
  Gang& gang = found->second;
  const Gang::Place place{pod.view.index, pod.key.name};
  if (gang.unbound.erase(place) + gang.bound.erase(place) == 0) return;
  ++gang.version;
  if (gang.unbound.empty()) waiting_.erase(found->first);
}

void ClusterModel::Drop(const std::string& uid) {
  const auto found = gangs_.find(uid);
  if (found == gangs_.end()) return;
  if (found->second.unbound.empty() && found->second.bound.empty()) gangs_.erase(found);
}

void ClusterModel::Join(const kube::ObjectKey& key, const PodRecord& pod) {
  Gang& gang = gangs_[pod.view.owner_uid];
  gang.job = {key.name_space, pod.job};
  ++gang.version;
  const Pod& entry = pods_.at(key);
  const Gang::Place place{pod.view.index, key.name};
  if (entry.charged.empty()) {
    gang.unbound[place] = entry.record;
    waiting_.insert(pod.view.owner_uid);
    return;
  }
  const auto held = held_.find(key);
  const bool confirmed = held == held_.end() || held->second.confirmed;
  gang.bound[place] = {entry.record, entry.charged, confirmed};
}

void ClusterModel::PutPod(const kube::ObjectKey& key, const PodCache::Object& pod) {
  const auto known = pods_.find(key);
  if (known == pods_.end() && pod == nullptr) return;
  Pod& entry = known == pods_.end() ? pods_[key] : known->second;
  const PodCache::Object before = entry.record;
  if (before != nullptr && IsMember(*before)) Leave(*before);
  if (const auto held = held_.find(key); held != held_.end()) {
    const bool settled =
        pod == nullptr || pod->view.uid != held->second.uid || !pod->view.node.empty();
    if (settled) held_.erase(held);
  }
  const bool other = before != nullptr && (pod == nullptr || pod->view.uid != before->view.uid ||
                                           pod->requests != before->requests);
  if (other && !entry.charged.empty()) {
    Charge(entry.charged, before->requests, -1);
    entry.charged.clear();
  }
  if (pod == nullptr) {
    pods_.erase(key);
  } else {
    entry.record = pod;
    Settle(key, entry);
    if (IsMember(*pod)) Join(key, *pod);
  }
  if (before != nullptr) Drop(before->view.owner_uid);
}

void ClusterModel::Promise(const PodRecord& pod, const std::string& node) {
  const auto known = pods_.find(pod.key);
  if (known == pods_.end() || known->second.record->view.uid != pod.view.uid) return;
  held_[pod.key] = {pod.view.uid, node, false};
  PutPod(pod.key, PodCache::Object(known->second.record));
}

void ClusterModel::Confirm(const PodRecord& pod, const std::string& node) {
  const auto known = pods_.find(pod.key);
  if (known == pods_.end() || known->second.record->view.uid != pod.view.uid) return;
  if (!known->second.record->view.node.empty()) return;  // the cache knows already
  held_[pod.key] = {pod.view.uid, node, true};
  PutPod(pod.key, PodCache::Object(known->second.record));
}

void ClusterModel::TakeBack(const PodRecord& pod) {
  const auto held = held_.find(pod.key);
  if (held == held_.end() || held->second.uid != pod.view.uid) return;
  held_.erase(held);
  PutPod(pod.key, PodCache::Object(pods_.at(pod.key).record));
}

bool ClusterModel::IsPromised(const PodRecord& pod) const {
  const auto held = held_.find(pod.key);
  return held != held_.end() && held->second.uid == pod.view.uid && !held->second.confirmed;
}

const NodeRecord* ClusterModel::FindNode(const std::string& name) const {
  const auto node = nodes_.find(name);
  return node == nodes_.end() ? nullptr : node->second.record.get();
}

void ClusterModel::Build() {
  std::vector<LabelledNode> labelled;
  for (auto& [name, node] : nodes_) {
    node.index = -1;
    if (node.record != nullptr) labelled.push_back({name, &node.record->labels});
  }
  Topology topology = levels_.empty() ? ReadTopology(labelled) : ReadTopology(labelled, levels_);
  Inventory inventory;
  inventory.levels = topology.levels;
  for (size_t i = 0; i < labelled.size(); ++i) {
    const Node& node = nodes_.at(labelled[i].name);
    inventory.nodes.push_back(
        {labelled[i].name, NotNegative(Less(node.record->allocatable, node.used)),
         IsOpen(*node.record), std::move(topology.paths[i]), node.record->allocatable});
  }
  tree_ = std::make_unique<TopologyTree>(inventory);
  findings_ = std::move(topology.findings);
  const auto& hosts = tree_->level(tree_->node_level());
  nodes_in_tree_.assign(hosts.size(), nullptr);
  for (size_t i = 0; i < hosts.size(); ++i) {
    Node& node = nodes_.at(hosts[i].name);
    node.index = static_cast<int>(i);
    nodes_in_tree_[i] = &node;
  }
  touched_.clear();
}

void ClusterModel::Apply(Node& node) {
  if (node.index < 0 || node.record == nullptr) return;
  const Resources want = NotNegative(Less(node.record->allocatable, node.used));
  tree_->Charge(node.index, Less(tree_->node(node.index).free, want));
  tree_->SetSchedulable(node.index, IsOpen(*node.record));
}

TopologyTree& ClusterModel::Tree() {
  if (tree_ == nullptr) Build();
  for (const std::string& name : std::exchange(touched_, {})) {
    const auto node = nodes_.find(name);
    if (node != nodes_.end()) Apply(node->second);
  }
  return *tree_;
}

}  // namespace muster::control
