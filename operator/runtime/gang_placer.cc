#include "operator/runtime/gang_placer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/placement/filter/gang_filter.h"
#include "operator/placement/filter/node_filter.h"
#include "operator/placement/filter/refusal.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/placement.h"
#include "operator/runtime/gang_request.h"

namespace muster::control {
namespace {

// Domains of a gang's own affinity that are tried, and node checks spent on placing it worker by
// worker, before it is refused.
constexpr size_t kMostDomains = 64;
constexpr size_t kMostChecks = 1'000'000;

PlacementRefusal Refuse(const Unplaceable& no, const PartialGang& gang,
                        const FilteredNodes& filtered) {
  const auto name = UnplaceableReasonName(no.reason);
  return {std::string(name), FullSentence(no, gang.request, filtered.nodes->left_out),
          filtered.of_node_alone};
}

// All nodes but those of a domain.
GangNodes AllBut(const TopologyTree& tree, int level, int domain) {
  GangNodes nodes;
  const int count = static_cast<int>(tree.level(tree.node_level()).size());
  for (int node = 0; level > 0 && node < count; ++node) {
    if (tree.AncestorOf(node, level) != domain) nodes.closed.push_back(node);
  }
  return nodes;
}

// All nodes but those with a label's value.
GangNodes AllBut(const std::vector<NodePointer>& states, const std::string& label,
                 const std::string& value) {
  GangNodes nodes;
  for (size_t i = 0; i < states.size(); ++i) {
    const LabelMap& labels = states[i]->node->labels;
    const auto found = labels.find(label);
    const bool in = found != labels.end() && found->second == value;
    if (!in) nodes.closed.push_back(static_cast<int>(i));
  }
  return nodes;
}

// In the order in which they are bound. Nothing: each fits when those before it are there.
std::optional<GangRefusal> Verify(const PlacementWorld& world, const Completion& completion,
                                  const std::map<int, PodPointer>& pods) {
  std::vector<PodPointer> members;
  std::vector<std::string> nodes;
  for (const auto& [worker, node] : completion.nodes) {
    members.push_back(pods.at(worker));
    nodes.push_back(node);
  }
  return CheckGang(members, nodes, world.snapshot, PlacedByMuster());
}

// The gang must share a domain of this label, for its pods want to be near each other.
const std::string* OwnAffinity(const SchedulingPod& pod) {
  for (const PodAffinityTerm& term : pod.wants().affinity) {
    if (term.selector.Matches(pod.labels)) return &term.topology_key;
  }
  return nullptr;
}

std::optional<Completion> PlaceInOneDomain(const PlacementWorld& world, const PartialGang& gang,
                                           const std::map<int, PodPointer>& pods,
                                           const std::string& label) {
  TopologyTree& tree = world.tree;
  const FilteredNodes filtered = world.NodesFor(*pods.begin()->second);
  std::set<std::string> domains;
  for (size_t i = 0; i < world.states.size(); ++i) {
    const LabelMap& labels = world.states[i]->node->labels;
    const auto value = labels.find(label);
    if (value != labels.end() && tree.node(static_cast<int>(i)).schedulable) {
      domains.emplace(value->second);
    }
  }
  size_t tries = 0;
  for (const std::string& domain : domains) {
    if (++tries > kMostDomains) break;
    const GangNodes others = AllBut(world.states, label, domain);
    const GatedTree without(tree, &others, gang.request.per_worker);
    const GatedTree gated(tree, filtered.nodes.get(), gang.request.per_worker);
    auto answer = CompleteGang(tree, gang);
    auto* completion = std::get_if<Completion>(&answer);
    if (completion != nullptr && !Verify(world, *completion, pods)) return std::move(*completion);
  }
  return std::nullopt;
}

// Worker by worker, each where the rules allow it beside those before it.
class OneByOne {
 public:
  // Within one domain of the tree: (0, 0) is the whole cluster.
  OneByOne(const PlacementWorld& world, const PartialGang& gang,
           const std::map<int, PodPointer>& pods, int level, int domain)
      : tree_(world.tree),
        gang_(gang),
        pods_(pods),
        others_(AllBut(tree_, level, domain)),
        filter_(world.snapshot, world.states, PlacedByMuster()) {}
  ~OneByOne() {
    for (int node : taken_) tree_.Charge(node, -gang_.request.per_worker);
  }
  OneByOne(const OneByOne&) = delete;
  OneByOne& operator=(const OneByOne&) = delete;

  PlacementAnswer Run() {
    PartialGang so_far = gang_;
    Completion completion;
    std::optional<PlacementRefusal> no;
    for (const int worker : gang_.missing) {
      so_far.missing = {worker};
      so_far.request.max = static_cast<int>(so_far.placed.size()) + 1;
      so_far.request.min = so_far.request.max;
      if ((no = PlaceOne(so_far, worker))) break;
      completion.nodes[worker] = so_far.placed.at(worker);
    }
    const int placed = static_cast<int>(so_far.placed.size());
    if (placed < gang_.request.min || completion.nodes.empty()) {
      no->sentence = absl::StrCat("its pods are in each other's way: after ", placed, " of ",
                                  gang_.request.min, " workers ", no->sentence);
      return *std::move(no);
    }
    std::vector<std::string> nodes;
    for (const auto& [worker, node] : so_far.placed) nodes.push_back(node);
    completion.gang = Judge(tree_, gang_.request, nodes);
    return completion;
  }

 private:
  std::optional<PlacementRefusal> PlaceOne(PartialGang& so_far, int worker) {
    const PodPointer& pod = pods_.at(worker);
    std::string node;
    {
      const GangNodes nodes = filter_.NodesFor(pod, tree_);
      const GatedTree without(tree_, &others_, gang_.request.per_worker);
      const GatedTree gated(tree_, &nodes, gang_.request.per_worker);
      auto answer = CompleteGang(tree_, so_far);
      if (const auto* no = std::get_if<Unplaceable>(&answer)) {
        const std::string& left_out = nodes.left_out;
        return PlacementRefusal{kConstraintsReason,
                                left_out.empty()
                                    ? absl::StrCat("there is no place for another: ", no->sentence)
                                    : absl::StrCat("of the nodes ", left_out)};
      }
      node = std::get<Completion>(answer).nodes.at(worker);
    }
    so_far.placed[worker] = node;
    const int index = *tree_.FindNode(node);
    filter_.Place(pod, index);
    tree_.Charge(index, gang_.request.per_worker);
    taken_.push_back(index);
    return std::nullopt;
  }

  TopologyTree& tree_;
  const PartialGang& gang_;
  const std::map<int, PodPointer>& pods_;
  const GangNodes others_;
  GangFilter filter_;
  std::vector<int> taken_;
};

// Domains of the required level with what the smallest gang asks for; the whole cluster when there
// is no such level, or when those who have nodes have settled it.
std::vector<std::pair<int, int>> DomainsFor(const TopologyTree& tree, const PartialGang& gang) {
  const std::optional<int> level = tree.FindLevel(gang.request.required_level);
  if (!level || !gang.placed.empty()) return {{0, 0}};
  std::vector<std::pair<int, int>> domains;
  const Resources& each = gang.request.per_worker;
  for (size_t i = 0; i < tree.level(*level).size(); ++i) {
    const TopologyTree::Domain& domain = tree.level(*level)[i];
    const Resources& free = domain.free;
    const int64_t least = std::max(gang.request.min, 1);
    const bool may = !domain.name.empty() && free.gpus / least >= each.gpus &&
                     free.cpu_millis / least >= each.cpu_millis &&
                     free.memory_bytes / least >= each.memory_bytes;
    if (may) domains.emplace_back(*level, static_cast<int>(i));
  }
  return domains;
}

// After topology alone has not found a place that holds for all.
PlacementAnswer PlaceApart(const PlacementWorld& world, const PartialGang& gang,
                           const std::map<int, PodPointer>& pods, PlacementRefusal no) {
  if (const std::string* label = OwnAffinity(*pods.begin()->second)) {
    if (auto completion = PlaceInOneDomain(world, gang, pods, *label)) {
      return *std::move(completion);
    }
  }
  const size_t each = gang.missing.size() * world.states.size();
  size_t checks = 0;
  for (const auto& [level, domain] : DomainsFor(world.tree, gang)) {
    checks += each;
    if (checks > kMostChecks) {
      absl::StrAppend(&no.sentence, "; too many workers and nodes to try them one by one");
      return no;
    }
    auto answer = OneByOne(world, gang, pods, level, domain).Run();
    if (std::holds_alternative<Completion>(answer)) return answer;
    no = std::get<PlacementRefusal>(std::move(answer));
  }
  return no;
}

}  // namespace

std::map<int, PodCache::Object> NewestUnbound(const Gang& gang) {
  std::map<int, PodCache::Object> pods;
  for (const auto& [place, pod] : gang.unbound) {
    PodCache::Object& newest = pods[place.first];
    if (newest == nullptr || newest->view->incarnation < pod->view->incarnation) newest = pod;
  }
  return pods;
}

std::map<int, PodPointer> MissingPods(const Gang& gang) {
  std::map<int, PodPointer> pods;
  for (const auto& [worker, pod] : NewestUnbound(gang)) pods[worker] = pod->scheduling;
  return pods;
}

PlacementAnswer PlaceGang(const PlacementWorld& world, const PartialGang& gang,
                          const std::map<int, PodPointer>& pods) {
  const SchedulingPod& pod = *pods.begin()->second;
  if (pod.wants().resource_claims) {
    return PlacementRefusal{kConstraintsReason,
                            "the template has resourceClaims, which muster does not place yet"};
  }
  PlacementRefusal no;
  {
    const FilteredNodes filtered = world.NodesFor(pod);
    const GatedTree gated(world.tree, filtered.nodes.get(), gang.request.per_worker);
    auto answer = CompleteGang(world.tree, gang);
    auto* completion = std::get_if<Completion>(&answer);
    if (completion == nullptr) {
      no = Refuse(std::get<Unplaceable>(answer), gang, filtered);
      // A node that may have one of them now may have more once others are elsewhere.
      if (pod.wants().spread.empty()) return no;
    } else if (filtered.of_node_alone) {
      return *std::move(completion);
    } else if (const auto refused = Verify(world, *completion, pods)) {
      no.reason = kConstraintsReason;
      no.sentence = absl::StrCat("its pods are in each other's way: ", Sentence(refused->refusal));
    } else {
      return *std::move(completion);
    }
  }
  return PlaceApart(world, gang, pods, std::move(no));
}

}  // namespace muster::control
