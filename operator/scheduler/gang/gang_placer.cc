#include "operator/scheduler/gang/gang_placer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/placement/filter/node_filter.h"
#include "operator/placement/filter/refusal.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/placement.h"
#include "operator/scheduler/gang/gang_domains.h"
#include "operator/scheduler/gang/gang_request.h"
#include "operator/scheduler/gang/greedy_placer.h"

namespace muster::control {
namespace {

// Limits on the search before a gang is refused: domains with room that are tried, and node checks
// spent on placing it worker by worker.
constexpr size_t kMostDomains = 64;
constexpr size_t kMostChecks = 1'000'000;

PlacementRefusal Refuse(const Unplaceable& no, const PartialGang& gang,
                        const FilteredNodes& filtered) {
  const auto name = Name(no.reason);
  return {std::string(name), FullSentence(no, gang.request, filtered.nodes->left_out),
          filtered.node_local};
}

// Returns all nodes but these as closed; `nodes` must rise.
GangNodes AllBut(const std::vector<int>& nodes, int count) {
  GangNodes others;
  auto next = nodes.begin();
  for (int node = 0; node < count; ++node) {
    if (next != nodes.end() && *next == node) {
      ++next;
    } else {
      others.closed.push_back(node);
    }
  }
  return others;
}

// Checks the pods in the order in which they are bound. Returns nullopt if each fits once those
// before it are there.
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

class GangSearch {
 public:
  GangSearch(const PlacementWorld& world, const PartialGang& gang,
             const std::map<int, PodPointer>& pods)
      : world_(world),
        gang_(gang),
        pods_(pods),
        pod_(*pods.begin()->second),
        spreads_(!pod_.wants().spread.empty()),
        filtered_(world.NodesFor(pod_)),
        most_(static_cast<int64_t>(gang.missing.size())),
        least_(gang.request.min - static_cast<int64_t>(gang.placed.size())) {}

  PlacementAnswer Run() {
    if (AskTopology()) return Answer();
    const auto [labels, domains] = DomainsFor(world_, gang_, pod_, filtered_);
    const int64_t room = domains.empty() ? 0 : domains.front().room;
    if (!labels.empty() && room < least_) return NoDomainFor(labels, room);
    size_t tries = 0;
    for (const GangDomain& domain : domains) {
      if (!MayBeBetter(domain)) break;
      if (++tries > kMostDomains) {
        absl::StrAppend(&cut_, "; only the ", kMostDomains, " domains with most room were tried");
        break;
      }
      Try(domain, domains.size() > 1);
    }
    // This try finds, for the sentence, which workers had places and what keeps the next one out.
    if (tries == 0 && !best_) TryOneByOne(GangNodes(), 0);
    return Answer();
  }

 private:
  PlacementAnswer Answer() {
    if (best_) return *std::move(best_);
    no_.sentence += cut_;
    return std::move(no_);
  }

  // Places the whole gang by topology alone. Returns true if nothing better can be found.
  bool AskTopology() {
    const GatedTree gated(world_.tree, filtered_.nodes.get(), gang_.request.per_worker);
    auto answer = CompleteGang(world_.tree, gang_, world_.model.links());
    auto* completion = std::get_if<Completion>(&answer);
    if (completion == nullptr) {
      const Unplaceable& no = std::get<Unplaceable>(answer);
      no_ = Refuse(no, gang_, filtered_);
      return !spreads_ || no.reason == UnplaceableReason::kInvalidRequest;
    }
    if (!filtered_.node_local) {
      if (const auto refused = Verify(world_, *completion, pods_)) {
        const std::string why = Sentence(refused->refusal);
        no_ = {kConstraintsReason, absl::StrCat("its pods are in each other's way: ", why)};
        return false;
      }
    }
    const auto size = static_cast<int64_t>(completion->nodes.size());
    Offer(*std::move(completion), 0);
    return !spreads_ || size == most_;
  }

  int64_t BestSize() const { return best_ ? static_cast<int64_t>(best_->nodes.size()) : 0; }

  bool MayBeBetter(const GangDomain& domain) const {
    if (domain.room < least_) return false;
    const int64_t size = std::min(domain.room, most_);
    return size > BestSize() || (size == BestSize() && domain.room < room_);
  }

  void Offer(Completion completion, int64_t room) {
    const auto size = static_cast<int64_t>(completion.nodes.size());
    if (size < BestSize() || (size == BestSize() && room >= room_)) return;
    best_ = std::move(completion);
    room_ = room;
  }

  void Try(const GangDomain& domain, bool one_of_several) {
    const int nodes = static_cast<int>(world_.states.size());
    const GangNodes others = AllBut(domain.nodes, nodes);
    // Topology has been asked about the whole cluster already.
    if (one_of_several && TryTogether(domain, others)) return;
    TryOneByOne(others, domain.room);
  }

  void TryOneByOne(const GangNodes& others, int64_t room) {
    checks_ += gang_.missing.size() * world_.states.size();
    if (checks_ > kMostChecks) {
      cut_ = "; too many workers and nodes to try them one by one";
      return;
    }
    auto answer = PlaceOneByOne(world_, gang_, pods_, others);
    if (auto* completion = std::get_if<Completion>(&answer)) {
      return Offer(*std::move(completion), room);
    }
    const NoNextPlace& no = std::get<NoNextPlace>(answer);
    if (no.placed <= furthest_) return;
    furthest_ = no.placed;
    no_ = {kConstraintsReason, absl::StrCat("its pods are in each other's way: after ", no.placed,
                                            " of ", gang_.request.min, " workers ", no.sentence)};
  }

  // Places the gang in the domain by topology. Returns true if no more workers fit there.
  bool TryTogether(const GangDomain& domain, const GangNodes& others) {
    const Resources& each = gang_.request.per_worker;
    const GatedTree without(world_.tree, &others, each);
    const GatedTree gated(world_.tree, filtered_.nodes.get(), each);
    auto answer = CompleteGang(world_.tree, gang_, world_.model.links());
    auto* completion = std::get_if<Completion>(&answer);
    if (completion == nullptr || Verify(world_, *completion, pods_)) return false;
    const auto size = static_cast<int64_t>(completion->nodes.size());
    Offer(*std::move(completion), domain.room);
    return !spreads_ || size == std::min(domain.room, most_);
  }

  PlacementRefusal NoDomainFor(const std::vector<std::string>& labels, int64_t room) const {
    return {
        kConstraintsReason,
        absl::StrCat("its pods want to be in one domain of ", absl::StrJoin(labels, " and "),
                     ", and the best has room for ", room, " of at least ", least_, " workers")};
  }

  const PlacementWorld& world_;
  const PartialGang& gang_;
  const std::map<int, PodPointer>& pods_;
  const SchedulingPod& pod_;
  // True if the gang has a spread: a node may take more pods once others are elsewhere.
  const bool spreads_;
  const FilteredNodes filtered_;
  const int64_t most_;
  const int64_t least_;
  std::optional<Completion> best_;
  int64_t room_ = 0;  // room of the domain that `best_` is in
  PlacementRefusal no_;
  int furthest_ = -1;  // workers that had places when `no_` was set
  size_t checks_ = 0;
  std::string cut_;  // why the search was cut short
};

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
  return GangSearch(world, gang, pods).Run();
}

}  // namespace muster::control
