#include "operator/scheduler/cluster/cluster_model.h"

#include <algorithm>
#include <utility>

#include "operator/core/state/notices.h"
#include "operator/placement/cluster/spot_labels.h"
#include "operator/placement/cluster/tree_amounts.h"

namespace muster::control {
namespace {

// Nothing new is placed on a node that is about to be reclaimed.
bool IsOpen(const NodeRecord& node) {
  return node.schedulable && !FindAnnouncement(node.taints, node.notice, absl::InfinitePast());
}

bool IsMember(const PodRecord& pod) {
  return !pod.job.empty() && pod.scheduling->scheduler_name == kSchedulerName &&
         !pod.view->owner_uid.empty() && !pod.ended() && !pod.view->deleting;
}

// Returns true if the places of other pods decide where this one may run.
bool HasInterPodConstraints(const PodRecord& pod) {
  const PodConstraints& wants = pod.scheduling->wants();
  return !wants.affinity.empty() || !wants.spread.empty();
}

}  // namespace

// The amounts that a faulty node reports are not counted.
Resources FreeOn(const NodeState& state) {
  return state.node->complaint ? Resources{} : TreeAmounts(state.free, state.free_pods());
}

FilterOptions PlacedByMuster() {
  return {.scheduler_name = kSchedulerName, .single_node_claims = true};
}

void ClusterModel::SetLevels(std::optional<std::vector<std::string>> keys) {
  if (keys == levels_) return;
  levels_ = std::move(keys);
  tree_.reset();
  ++changes_;
}

ClusterSnapshot& ClusterModel::Storage() {
  ++changes_;
  return snapshot_;
}

void ClusterModel::CountKind(const NodeRecord* before, const NodeRecord* after) {
  const std::string was = before == nullptr ? "" : GpuKindOf(*before->scheduling);
  const std::string is = after == nullptr ? "" : GpuKindOf(*after->scheduling);
  ++node_changes_;
  if (was == is) return;
  ++gpu_kind_changes_;
  if (!was.empty() && --nodes_of_kind_[was] == 0) gpu_kinds_.erase(was);
  if (!is.empty() && ++nodes_of_kind_[is] == 1) gpu_kinds_.insert(is);
}

void ClusterModel::PutNode(const std::string& name, const NodeCache::Object& node) {
  if (node == nullptr) {
    const auto known = nodes_.find(name);
    if (known == nodes_.end()) return;
    CountKind(known->second.record.get(), nullptr);
    nodes_.erase(known);
    snapshot_.RemoveNode(name);
    tree_.reset();
    ++changes_;
    return;
  }
  Node& entry = nodes_[name];
  const NodeCache::Object before = std::exchange(entry.record, node);
  const bool same_place = before != nullptr &&
                          before->scheduling->labels == node->scheduling->labels &&
                          before->allocatable == node->allocatable;
  if (!same_place) tree_.reset();
  if (before != nullptr && *before->scheduling == *node->scheduling) return;
  CountKind(before.get(), node.get());
  snapshot_.SetNode(node->scheduling);
  ++changes_;
  touched_.insert(name);
}

void ClusterModel::Discount(Pod& pod) {
  if (pod.counted == nullptr) return;
  if (!pod.charged.empty()) {
    snapshot_.RemovePod(pod.counted, pod.charged);
  } else {
    snapshot_.RemoveNominated(pod.counted, pod.nominated);
  }
  touched_.insert(pod.charged.empty() ? pod.nominated : pod.charged);
  pod.counted = nullptr;
  pod.charged.clear();
  pod.nominated.clear();
  ++changes_;
}

// Moves the pod to the one place where it counts now.
void ClusterModel::Settle(const kube::ObjectKey& key, Pod& pod) {
  std::string node;
  std::string nominated;
  if (pod.record != nullptr && !pod.record->ended()) {
    node = pod.record->view->node;
    const auto held = held_.find(key);
    if (node.empty() && held != held_.end()) node = held->second.node;
    if (node.empty()) nominated = pod.record->scheduling->nominated;
  }
  const bool somewhere = !node.empty() || !nominated.empty();
  const bool same = node == pod.charged && nominated == pod.nominated;
  if (same && (!somewhere || IsAlike(*pod.counted, *pod.record->scheduling))) return;
  Discount(pod);
  if (!somewhere) return;
  pod.counted = pod.record->scheduling;
  pod.charged = std::move(node);
  pod.nominated = std::move(nominated);
  if (!pod.charged.empty()) {
    snapshot_.AddPod(pod.counted, pod.charged);
  } else {
    snapshot_.AddNominated(pod.counted, pod.nominated);
  }
  touched_.insert(pod.charged.empty() ? pod.nominated : pod.charged);
  if (waiting_with_constraints_ > 0) ++changes_;
}

void ClusterModel::CountConstrained(const PodRecord& pod, int sign) {
  if (HasInterPodConstraints(pod)) waiting_with_constraints_ += sign;
}

void ClusterModel::Leave(const PodRecord& pod) {
  const auto found = gangs_.find(pod.view->owner_uid);
  if (found == gangs_.end()) return;
  Gang& gang = found->second;
  const Gang::Place place{pod.view->index, pod.key.name};
  const size_t waiting = gang.unbound.erase(place);
  if (waiting > 0) CountConstrained(pod, -1);
  if (waiting + gang.bound.erase(place) == 0) return;
  ++gang.version;
  if (gang.unbound.empty()) waiting_.erase(found->first);
}

void ClusterModel::Drop(const std::string& uid) {
  const auto found = gangs_.find(uid);
  if (found == gangs_.end()) return;
  if (found->second.unbound.empty() && found->second.bound.empty()) gangs_.erase(found);
}

void ClusterModel::Join(const kube::ObjectKey& key, const PodRecord& pod) {
  Gang& gang = gangs_[pod.view->owner_uid];
  gang.job = {key.name_space, pod.job};
  ++gang.version;
  const Pod& entry = pods_.at(key);
  const Gang::Place place{pod.view->index, key.name};
  if (entry.charged.empty()) {
    gang.unbound[place] = entry.record;
    CountConstrained(pod, 1);
    waiting_.insert(pod.view->owner_uid);
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
        pod == nullptr || pod->view->uid != held->second.uid || !pod->view->node.empty();
    if (settled) held_.erase(held);
  }
  const bool other = before != nullptr && (pod == nullptr || pod->view->uid != before->view->uid);
  if (other) Discount(entry);
  if (pod == nullptr) {
    pods_.erase(key);
  } else {
    entry.record = pod;
    Settle(key, entry);
    if (IsMember(*pod)) Join(key, *pod);
  }
  if (before != nullptr) Drop(before->view->owner_uid);
}

void ClusterModel::Promise(const PodRecord& pod, const std::string& node) {
  const auto known = pods_.find(pod.key);
  if (known == pods_.end() || known->second.record->view->uid != pod.view->uid) return;
  held_[pod.key] = {pod.view->uid, node, false};
  PutPod(pod.key, PodCache::Object(known->second.record));
}

void ClusterModel::Confirm(const PodRecord& pod, const std::string& node) {
  const auto known = pods_.find(pod.key);
  if (known == pods_.end() || known->second.record->view->uid != pod.view->uid) return;
  if (!known->second.record->view->node.empty()) return;  // the cache shows it already
  held_[pod.key] = {pod.view->uid, node, true};
  PutPod(pod.key, PodCache::Object(known->second.record));
}

void ClusterModel::TakeBack(const PodRecord& pod) {
  const auto held = held_.find(pod.key);
  if (held == held_.end() || held->second.uid != pod.view->uid) return;
  held_.erase(held);
  PutPod(pod.key, PodCache::Object(pods_.at(pod.key).record));
}

bool ClusterModel::IsPromised(const PodRecord& pod) const {
  const auto held = held_.find(pod.key);
  return held != held_.end() && held->second.uid == pod.view->uid && !held->second.confirmed;
}

std::pair<PodPointer, std::string> ClusterModel::CountedOn(const kube::ObjectKey& pod) const {
  const auto known = pods_.find(pod);
  if (known == pods_.end() || known->second.charged.empty()) return {};
  return {known->second.counted, known->second.charged};
}

const NodeRecord* ClusterModel::FindNode(const std::string& name) const {
  const auto node = nodes_.find(name);
  return node == nodes_.end() ? nullptr : node->second.record.get();
}

void ClusterModel::Build() {
  std::vector<LabelledNode> labelled;
  for (auto& [name, node] : nodes_) {
    node.index = -1;
    labelled.push_back({name, node.record->scheduling->labels});
  }
  Topology topology = levels_ ? ReadTopology(labelled, *levels_) : ReadTopology(labelled);
  Inventory inventory;
  inventory.levels = topology.levels;
  for (size_t i = 0; i < labelled.size(); ++i) {
    const std::string& name = labelled[i].name;
    const NodeRecord& record = *nodes_.at(name).record;
    const LabelMap& labels = record.scheduling->labels;
    const bool spot = IsSpotNode(labels);
    inventory.nodes.push_back(
        {name, FreeOn(*snapshot_.FindNode(name)), IsOpen(record), std::move(topology.paths[i]),
         record.allocatable, GpuKindOf(*record.scheduling), spot, spot ? SpotPoolOf(labels) : ""});
  }
  tree_.emplace(inventory);
  findings_ = std::move(topology.findings);
  const auto& hosts = tree_->level(tree_->node_level());
  states_.assign(hosts.size(), nullptr);
  for (size_t i = 0; i < hosts.size(); ++i) {
    nodes_.at(hosts[i].name).index = static_cast<int>(i);
    states_[i] = snapshot_.ShareNode(hosts[i].name);
  }
  touched_.clear();
}

void ClusterModel::Apply(Node& node) {
  if (node.index < 0) return;
  NodePointer& state = states_[node.index];
  state = snapshot_.ShareNode(node.record->name);
  tree_->Charge(node.index, tree_->node(node.index).free - FreeOn(*state));
  tree_->SetSchedulable(node.index, IsOpen(*node.record));
}

FilteredNodes ClusterModel::NodesFor(const SchedulingPod& pod) {
  if (pod.node.empty()) return filters_.NodesFor(pod, snapshot_, Tree(), states_, PlacedByMuster());
  SchedulingPod next = pod;
  next.node.clear();
  return filters_.NodesFor(next, snapshot_, Tree(), states_, PlacedByMuster());
}

FilteredNodes ClusterModel::NodesFor(const SchedulingPod& pod, const ClusterSnapshot& snapshot,
                                     const std::vector<NodePointer>& states) {
  return filters_.NodesFor(pod, snapshot, Tree(), states, PlacedByMuster());
}

bool ClusterModel::IsNodeLocal(const SchedulingPod& pod) const {
  return NodeFilter(pod, snapshot_, PlacedByMuster()).node_local();
}

TopologyTree& ClusterModel::Tree() {
  if (!tree_) Build();
  for (const std::string& name : std::exchange(touched_, {})) {
    const auto node = nodes_.find(name);
    if (node != nodes_.end()) Apply(node->second);
  }
  return *tree_;
}

}  // namespace muster::control
