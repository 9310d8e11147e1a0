#include "operator/placement/filter/node_filter.h"

#include <algorithm>
#include <utility>

#include "operator/placement/filter/attach_limit_policy.h"
#include "operator/placement/filter/node_affinity_policy.h"
#include "operator/placement/filter/node_policies.h"
#include "operator/placement/filter/pod_affinity_policy.h"
#include "operator/placement/filter/single_node_claim_policy.h"
#include "operator/placement/filter/taint_policy.h"
#include "operator/placement/filter/topology_spread_policy.h"
#include "operator/placement/filter/volume_binding_policy.h"
#include "operator/placement/filter/volume_conflict_policy.h"
#include "operator/placement/filter/volume_zone_policy.h"

namespace muster::control {

// The policies whose constructors look at more than the node.
struct NodeFilter::Policies {
  Policies(const SchedulingPod& pod, const ClusterSnapshot& snapshot, bool comparison)
      : conflicts(pod, snapshot),
        sharing(pod, snapshot),
        limits(pod, snapshot),
        binding(pod, snapshot),
        zones(pod, snapshot),
        spread(pod, snapshot, comparison),
        affinity(pod, snapshot) {}

  bool node_local() const {
    return conflicts.node_local() && sharing.node_local() && limits.node_local() &&
           binding.node_local() && zones.node_local() && spread.node_local() &&
           affinity.node_local();
  }

  VolumeConflictPolicy conflicts;
  SingleNodeClaimPolicy sharing;
  AttachLimitPolicy limits;
  VolumeBindingPolicy binding;
  VolumeZonePolicy zones;
  TopologySpreadPolicy spread;
  PodAffinityPolicy affinity;
};

// A node with the pods that are nominated there added, and the policies over that cluster.
struct NodeFilter::Crowded {
  ClusterSnapshot snapshot;
  std::unique_ptr<Policies> policies;
  const NodeState* node = nullptr;
};

NodeFilter::NodeFilter(const SchedulingPod& pod, const ClusterSnapshot& snapshot,
                       FilterOptions options)
    : pod_(&pod),
      snapshot_(snapshot),
      options_(std::move(options)),
      policies_(std::make_unique<Policies>(pod, snapshot, options_.taint_comparison_operators)) {}

NodeFilter::~NodeFilter() = default;

// Collects rule after rule, in kube-scheduler's order; stops at the first refusal unless `all`.
struct NodeFilter::Answers {
  bool all = false;
  std::vector<NodeRefusal> refusals;

  bool GoOn(std::optional<NodeRefusal> refusal) {
    if (refusal) refusals.push_back(*std::move(refusal));
    return all || refusals.empty();
  }
  std::optional<NodeRefusal> First() {
    if (refusals.empty()) return std::nullopt;
    return std::move(refusals.front());
  }
};

// Rules that `skipped` skips are left out.
bool NodeFilter::AskAlone(const NodeState& state, const Policies& policies, const Policies& skipped,
                          Answers& answers) const {
  const SchedulingNode& node = *state.node;
  const SchedulingPod& pod = *pod_;
  const bool comparison = options_.taint_comparison_operators;
  return answers.GoOn(CheckTemplate(pod, options_.scheduler_name)) &&
         answers.GoOn(CheckNodeHealth(pod, node)) && answers.GoOn(CheckSpot(pod, node)) &&
         answers.GoOn(CheckUnschedulable(pod, node, comparison)) &&
         answers.GoOn(CheckNodeName(pod, node)) &&
         answers.GoOn(CheckTaints(pod, node, comparison)) &&
         answers.GoOn(CheckNodeAffinity(pod, node)) && answers.GoOn(CheckHostPorts(pod, state)) &&
         answers.GoOn(CheckResources(pod, state)) &&
         (skipped.conflicts.skipped() || answers.GoOn(policies.conflicts.Check(state))) &&
         (!options_.single_node_claims || answers.GoOn(policies.sharing.Check(state))) &&
         answers.GoOn(policies.limits.Check(state)) &&
         answers.GoOn(policies.binding.Check(state)) && answers.GoOn(policies.zones.Check(state));
}

bool NodeFilter::AskAmongOthers(const NodeState& state, const Policies& policies,
                                const Policies& skipped, Answers& answers) const {
  return answers.GoOn(policies.spread.Check(state)) &&
         (skipped.affinity.skipped() || answers.GoOn(policies.affinity.Check(state)));
}

std::vector<NodeRefusal> NodeFilter::Ask(const NodeState& state, const Policies& policies, bool all,
                                         const Policies& skipped) const {
  Answers answers{all, {}};
  (void)(AskAlone(state, policies, skipped, answers) &&
         AskAmongOthers(state, policies, skipped, answers));
  return std::move(answers.refusals);
}

std::optional<NodeRefusal> NodeFilter::CheckAlone(const NodeState& node) const {
  Answers answers;
  AskAlone(node, *policies_, *policies_, answers);
  return answers.First();
}

std::optional<NodeRefusal> NodeFilter::CheckAmongOthers(const NodeState& node) const {
  Answers answers;
  AskAmongOthers(node, *policies_, *policies_, answers);
  return answers.First();
}

namespace {

bool AreOfOneTemplate(const SchedulingPod& a, const SchedulingPod& b) {
  return a.ns == b.ns && a.scheduler_name == b.scheduler_name && a.node == b.node &&
         a.nominated == b.nominated && a.priority == b.priority && a.requests == b.requests &&
         a.host_ports == b.host_ports && a.wants() == b.wants();
}

}  // namespace

bool NodeFilter::GoOn(const SchedulingPod& next, const NodeState& node) {
  const PodConstraints& wants = next.wants();
  if (!wants.claims.empty() || !wants.disks.empty() || !AreOfOneTemplate(*pod_, next)) return false;
  pod_ = &next;
  policies_->spread.GoOn(next, node);
  policies_->affinity.GoOn(next, node, snapshot_);
  return true;
}

std::unique_ptr<NodeFilter::Crowded> NodeFilter::Crowd(const NodeState& node) const {
  std::unique_ptr<Crowded> crowded;
  for (const PodPointer& other : node.nominated) {
    if (other->priority < pod_->priority || other->uid == pod_->uid) continue;
    if (crowded == nullptr) {
      crowded = std::make_unique<Crowded>();
      crowded->snapshot = snapshot_;
    }
    crowded->snapshot.AddPod(other, node.node->name);
  }
  if (crowded == nullptr) return nullptr;
  crowded->node = crowded->snapshot.FindNode(node.node->name);
  crowded->policies =
      std::make_unique<Policies>(*pod_, crowded->snapshot, options_.taint_comparison_operators);
  return crowded;
}

std::vector<NodeRefusal> NodeFilter::CheckAll(const NodeState& node, bool all) const {
  std::vector<NodeRefusal> refusals = Ask(node, *policies_, all, *policies_);
  if (node.nominated.empty() || (!all && !refusals.empty())) return refusals;
  const std::unique_ptr<Crowded> crowded = Crowd(node);
  if (crowded == nullptr) return refusals;
  for (NodeRefusal& more : Ask(*crowded->node, *crowded->policies, all, *policies_)) {
    const bool known = std::any_of(refusals.begin(), refusals.end(), [&](const NodeRefusal& one) {
      return one.reason == more.reason;
    });
    if (!known) refusals.push_back(std::move(more));
  }
  std::stable_sort(refusals.begin(), refusals.end(),
                   [](const NodeRefusal& a, const NodeRefusal& b) { return a.reason < b.reason; });
  return refusals;
}

std::optional<NodeRefusal> NodeFilter::Check(const NodeState& node) const {
  std::vector<NodeRefusal> refusals = CheckAll(node, false);
  if (refusals.empty()) return std::nullopt;
  return std::move(refusals.front());
}

std::vector<NodeRefusal> NodeFilter::Explain(const NodeState& node) const {
  return CheckAll(node, true);
}

int64_t NodeFilter::Room(const NodeState& node) const {
  const std::unique_ptr<Crowded> crowded = node.nominated.empty() ? nullptr : Crowd(node);
  const NodeState& full = crowded == nullptr ? node : *crowded->node;
  const Policies& policies = crowded == nullptr ? *policies_ : *crowded->policies;
  int64_t most = full.free_pods();
  if (!pod_->host_ports.empty() || policies.conflicts.excludes_itself() ||
      policies.affinity.excludes_itself(full)) {
    most = 1;
  }
  most = policies.spread.Room(full, most);
  return TimesIn(full.free, pod_->requests, most);
}

bool NodeFilter::node_local() const { return policies_->node_local() && pod_->nominated.empty(); }

std::vector<std::string> NodeFilter::together_by() const {
  return policies_->affinity.together_by();
}

int64_t NodeFilter::Copies(const NodeState& node) const { return Check(node) ? 0 : Room(node); }

std::optional<NodeRefusal> Fits(const NodeState& node, const SchedulingPod& pod,
                                const ClusterSnapshot& snapshot, const FilterOptions& options) {
  return NodeFilter(pod, snapshot, options).Check(node);
}

VolumeNeeds VolumeNeedsOn(const NodeState& node, const SchedulingPod& pod,
                          const ClusterSnapshot& snapshot) {
  VolumeNeeds needs;
  VolumeBindingPolicy::Found found;
  if (VolumeBindingPolicy(pod, snapshot).Find(*node.node, found)) return needs;
  for (const VolumeClaim* claim : found.provision) needs.select_node.push_back(claim->name);
  for (const auto& [claim, volume] : found.bind) {
    needs.prebind.push_back({claim->name, volume->name});
  }
  return needs;
}

VolumeNeeds AssumeVolumes(const NodeState& node, const SchedulingPod& pod,
                          ClusterSnapshot& snapshot) {
  const VolumeNeeds needs = VolumeNeedsOn(node, pod, snapshot);
  for (const VolumeNeeds::Prebind& one : needs.prebind) {
    VolumeClaim claim = *snapshot.FindClaim(pod.ns, one.claim);
    Volume volume = *snapshot.FindVolume(one.volume);
    claim.volume = one.volume;
    claim.bind_completed = true;
    volume.claim_ns = pod.ns;
    volume.claim_name = one.claim;
    volume.claim_uid = claim.uid;
    volume.available = false;
    snapshot.SetClaim(std::move(claim));
    snapshot.SetVolume(std::move(volume));
  }
  return needs;
}

std::optional<NodeRefusal> CheckVolumes(const NodeState& node, const SchedulingPod& pod,
                                        const ClusterSnapshot& snapshot) {
  const VolumeBindingPolicy policy(pod, snapshot);
  if (auto refusal = policy.Check(node)) return refusal;
  VolumeBindingPolicy::Found found;
  policy.Find(*node.node, found);
  if (found.provision.empty() && found.bind.empty()) return std::nullopt;
  return NodeRefusal{FilterReason::kVolumeBinding, "a claim is not bound"};
}

std::optional<GangRefusal> CheckGang(const std::vector<PodPointer>& pods,
                                     const std::vector<std::string>& nodes,
                                     const ClusterSnapshot& snapshot,
                                     const FilterOptions& options) {
  ClusterSnapshot next = snapshot;
  std::optional<NodeFilter> filter;
  for (size_t i = 0; i < pods.size(); ++i) {
    const NodeState* node = next.FindNode(nodes[i]);
    if (node == nullptr) return GangRefusal{i, {FilterReason::kNodeNotReady, nodes[i]}};
    if (!filter || !filter->GoOn(*pods[i], *next.FindNode(nodes[i - 1]))) {
      filter.emplace(*pods[i], next, options);
    }
    if (auto refusal = filter->Check(*node)) return GangRefusal{i, *std::move(refusal)};
    if (!pods[i]->wants().claims.empty()) AssumeVolumes(*node, *pods[i], next);
    next.AddPod(pods[i], nodes[i]);
  }
  return std::nullopt;
}

}  // namespace muster::control
