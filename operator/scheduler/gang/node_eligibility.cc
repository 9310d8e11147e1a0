#include "operator/scheduler/gang/node_eligibility.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "operator/kube/object_meta.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/complete_gang.h"
#include "operator/placement/filter/filter_memo.h"
#include "operator/placement/inventory.h"
#include "operator/placement/topology_tree.h"
#include "operator/scheduler/cluster/placement_world.h"
#include "operator/scheduler/gang/gang_placer.h"

namespace muster::control {
namespace {

// A hypothetical cluster: the model's with some pods removed and others added. The free amounts in
// the model's tree are changed for as long as this lives; the rest is a copy. Nothing else may
// change the model meanwhile. Not thread-safe.
class HypotheticalCluster {
 public:
  explicit HypotheticalCluster(ClusterModel& model);
  ~HypotheticalCluster();
  HypotheticalCluster(const HypotheticalCluster&) = delete;
  HypotheticalCluster& operator=(const HypotheticalCluster&) = delete;

  // Has no effect for a pod that counts nowhere, or was removed before.
  void Remove(const kube::ObjectKey& pod);
  // Adds a pod to a node that is already charged for it in the tree.
  void Add(const PodPointer& pod, const std::string& node);

  PlacementWorld world() { return {model_, tree_, snapshot_, states_}; }

 private:
  ClusterModel& model_;
  TopologyTree& tree_;
  ClusterSnapshot snapshot_;
  std::vector<NodePointer> states_;
  std::vector<std::pair<int, Resources>> freed_;  // by node
};

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

// Removes all pods of the job that hold nodes, except its first workers. Pods that are being
// deleted are not among those.
void RemoveLeaver(const GangQuestion::Leaver& leaver, const ClusterModel& model,
                  const NodeHolders& holders, HypotheticalCluster& cluster) {
  std::set<kube::ObjectKey> staying;
  const auto gang = model.gangs().find(leaver.job);
  if (gang != model.gangs().end()) {
    for (const auto& [place, bound] : gang->second.bound) {
      if (place.first < leaver.stay) {
        staying.insert(bound.pod->key);
      } else {
        cluster.Remove(bound.pod->key);
      }
    }
  }
  for (const auto& [key, pod] : holders.Of(leaver.job)) {
    if (staying.count(key) == 0) cluster.Remove(key);
  }
}

void AddStarter(const GangQuestion::Starter& starter, const ClusterModel& model,
                HypotheticalCluster& cluster) {
  const auto gang = model.gangs().find(starter.job);
  if (gang == model.gangs().end()) return;
  auto node = starter.nodes.begin();
  for (const auto& [worker, pod] : MissingPods(gang->second)) {
    if (node == starter.nodes.end()) return;
    cluster.Add(pod, *node++);
  }
}

}  // namespace

std::shared_ptr<const GangNodes> NodesForGangOf(ClusterModel& model, const SchedulingPod& pod) {
  const FilteredNodes filtered = model.NodesFor(pod);
  if (filtered.node_local) return filtered.nodes;
  GangNodes nodes = *filtered.nodes;
  nodes.bounds.clear();
  nodes.inter_pod_constraints = true;
  return std::make_shared<const GangNodes>(std::move(nodes));
}

void NodeEligibility::AddHypotheticalGang(std::string job_uid, Gang gang) {
  hypothetical_uid_ = std::move(job_uid);
  hypothetical_gang_ = std::move(gang);
}

const Gang* NodeEligibility::FindGang(const std::string& job_uid) const {
  if (job_uid == hypothetical_uid_) return &hypothetical_gang_;
  const auto found = model_.gangs().find(job_uid);
  return found == model_.gangs().end() ? nullptr : &found->second;
}

const PodRecord* NodeEligibility::PodOf(const std::string& job_uid) const {
  const Gang* gang = FindGang(job_uid);
  if (gang == nullptr) return nullptr;
  if (!gang->unbound.empty()) return gang->unbound.begin()->second.get();
  return gang->bound.empty() ? nullptr : gang->bound.begin()->second.pod.get();
}

std::shared_ptr<const GangNodes> NodeEligibility::NodesFor(const std::string& job_uid) {
  const PodRecord* pod = PodOf(job_uid);
  return pod == nullptr ? nullptr : NodesForGangOf(model_, *pod->scheduling);
}

std::optional<GangAnswer> NodeEligibility::PlacesFor(const GangQuestion& question) {
  const Gang* asked = FindGang(question.job);
  if (asked == nullptr) return std::nullopt;
  HypotheticalCluster cluster(model_);
  for (const GangQuestion::Leaver& one : question.leavers) {
    RemoveLeaver(one, model_, holders_, cluster);
  }
  for (const GangQuestion::Starter& one : question.starters) AddStarter(one, model_, cluster);
  const std::map<int, PodPointer> pods = MissingPods(*asked);
  PartialGang gang;
  gang.request = question.request;
  for (const auto& [worker, pod] : pods) gang.missing.push_back(worker);
  gang.missing.resize(
      std::min(gang.missing.size(), static_cast<size_t>(std::max(1, question.request.max))));
  const PlacementAnswer answer = PlaceGang(cluster.world(), gang, pods);
  if (const auto* no = std::get_if<PlacementRefusal>(&answer)) {
    return GangAnswer{{}, no->reason, no->sentence};
  }
  GangAnswer places;
  for (const auto& [worker, node] : std::get<Completion>(answer).nodes) {
    places.nodes.push_back(node);
  }
  return places;
}

bool NodeEligibility::IsNodeLocal(const std::string& job_uid) const {
  const PodRecord* pod = PodOf(job_uid);
  return pod == nullptr || model_.IsNodeLocal(*pod->scheduling);
}

}  // namespace muster::control
