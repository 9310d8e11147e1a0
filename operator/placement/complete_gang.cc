#include "operator/placement/complete_gang.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/placement/spot_bounds.h"

namespace muster::control {
namespace {

// The domain where workers must be because of those that have nodes; level 0 is the whole cluster.
struct Anchor {
  int level = 0;
  int domain = 0;
  size_t slices = 0;  // the request's slices that are no narrower than it
  auto operator<=>(const Anchor&) const = default;
};

constexpr int kAnyProduct = -2;

// Returns the workers together with the ended members of their outermost slices, rising.
std::vector<int> InWholeSlices(const std::vector<int>& workers, const std::vector<Slice>& slices,
                               const std::set<int>& ended) {
  if (slices.empty() || ended.empty()) return workers;
  const int size = std::max(1, slices.front().size);
  std::set<int> seats(workers.begin(), workers.end());
  for (const int worker : workers) {
    const int first = worker / size * size;
    seats.insert(ended.lower_bound(first), ended.lower_bound(first + size));
  }
  return {seats.begin(), seats.end()};
}

// Returns how many of the seats hold at least the first `count` workers; more than there are seats
// if `count` is more than there are workers.
int SeatsOfFirst(int count, const std::vector<int>& workers, const std::vector<int>& seats) {
  const int more = count - static_cast<int>(workers.size());
  if (more > 0) return static_cast<int>(seats.size()) + more;
  if (count <= 0) return count;
  const auto last = std::lower_bound(seats.begin(), seats.end(), workers[count - 1]);
  return static_cast<int>(last - seats.begin()) + 1;
}

// Leaves only the nodes in some domains schedulable, and restores everything when it is destroyed.
class Narrowed {
 public:
  explicit Narrowed(TopologyTree& tree) : tree_(tree) {
    const int nodes = static_cast<int>(tree.level(tree.node_level()).size());
    for (int node = 0; node < nodes; ++node) {
      if (!tree.node(node).schedulable) continue;
      closed_.push_back(node);
      tree.SetSchedulable(node, false);
    }
  }
  ~Narrowed() {
    for (const auto& [node, amount] : charged_) tree_.Charge(node, -amount);
    for (int node : closed_) tree_.SetSchedulable(node, true);
    for (int node : open_) tree_.SetSchedulable(node, true);
  }
  Narrowed(const Narrowed&) = delete;
  Narrowed& operator=(const Narrowed&) = delete;

  // Opens nodes of one GPU product only, unless it is kAnyProduct.
  void Open(int level, const std::set<int>& domains, int gpu_product) {
    std::vector<int> still;
    for (int node : closed_) {
      const bool alike = gpu_product == kAnyProduct || tree_.node(node).gpu_product == gpu_product;
      const bool in = alike && domains.count(tree_.AncestorOf(node, level)) > 0;
      if (in) tree_.SetSchedulable(node, true);
      (in ? open_ : still).push_back(node);
    }
    closed_ = std::move(still);
  }
  void Close() {
    for (int node : open_) tree_.SetSchedulable(node, false);
    closed_.insert(closed_.end(), open_.begin(), open_.end());
    open_.clear();
  }
  // The amount stays charged until this is destroyed.
  void Charge(int node, const Resources& amount) {
    tree_.Charge(node, amount);
    charged_.push_back({node, amount});
  }

 private:
  TopologyTree& tree_;
  std::vector<int> closed_;
  std::vector<int> open_;
  std::vector<std::pair<int, Resources>> charged_;
};

class Completer {
 public:
  Completer(TopologyTree& tree, const PartialGang& gang) : tree_(tree), gang_(gang) {
    for (const auto& [worker, name] : gang.placed) {
      if (const std::optional<int> node = tree.FindNode(name)) placed_[worker] = *node;
    }
  }

  // Returns nothing, or why it cannot be done.
  std::optional<Unplaceable> Run() {
    std::map<Anchor, std::vector<int>> groups;
    for (int worker : gang_.missing) groups[AnchorOf(worker)].push_back(worker);
    Narrowed view(tree_);
    std::optional<Unplaceable> refusal;
    // The narrowest groups go first: they have the least choice.
    for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
      auto no = PlaceGroup(view, group->first, group->second);
      if (no && !refusal) refusal = std::move(no);
    }
    const bool enough = !nodes_.empty() && Having() >= gang_.request.min;
    return enough ? std::nullopt : refusal;
  }

  std::map<int, std::string> TakeNodes() { return std::move(nodes_); }

 private:
  Anchor At(int level, int node, size_t slices) const {
    return {level, tree_.AncestorOf(node, level), slices};
  }

  // Workers that have nodes by now.
  int Having() const { return static_cast<int>(gang_.placed.size() + nodes_.size()); }

  // The narrowest slice that has a worker with a node, or the required domain if that is narrower.
  Anchor AnchorOf(int worker) const {
    const std::vector<Slice>& slices = gang_.request.slices;
    const std::optional<int> required = tree_.FindLevel(gang_.request.required_level);
    for (size_t k = slices.size(); k-- > 0;) {
      const int size = std::max(1, slices[k].size);
      const int first = worker / size * size;
      const auto peer = placed_.lower_bound(first);
      if (peer == placed_.end() || peer->first >= first + size) continue;
      const std::optional<int> level = tree_.FindLevel(slices[k].level);
      if (level) return At(std::max(*level, required.value_or(0)), peer->second, k + 1);
    }
    if (required && !placed_.empty()) return At(*required, placed_.begin()->second, 0);
    return {};
  }

  // Returns the domains of a level, within the anchor's domain, where the gang is already.
  std::set<int> Inhabited(const Anchor& anchor, int level) const {
    std::set<int> domains;
    for (const auto& [worker, node] : placed_) {
      if (tree_.AncestorOf(node, anchor.level) != anchor.domain) continue;
      domains.insert(tree_.AncestorOf(node, level));
    }
    if (domains.empty() && level == anchor.level) domains.insert(anchor.domain);
    return domains;
  }

  std::optional<Unplaceable> PlaceGroup(Narrowed& view, const Anchor& anchor,
                                        const std::vector<int>& workers) {
    const GangRequest& whole = gang_.request;
    GangRequest request = whole;
    request.required_level.clear();
    request.slices.assign(whole.slices.begin() + static_cast<ptrdiff_t>(anchor.slices),
                          whole.slices.end());
    const std::vector<int> seats = InWholeSlices(workers, request.slices, gang_.ended);
    request.max = static_cast<int>(seats.size());
    const int needed = std::clamp(whole.min - Having(), 1, static_cast<int>(workers.size()));
    // A slice that is begun is finished; beyond that an elastic gang takes what there is.
    request.min = anchor.slices > 0 ? request.max : SeatsOfFirst(needed, workers, seats);
    if (request.spot.given) request.most_on_spot = MostOnSpot(seats);
    view.Close();
    const int preferred = tree_.FindLevel(whole.preferred_level).value_or(tree_.node_level());
    const int product = ProductOfOthers();
    for (int level = std::max(preferred, anchor.level); level >= anchor.level; --level) {
      const std::set<int> domains = Inhabited(anchor, level);
      // The product of the other workers' GPUs comes first, then any that is as close.
      if (product != kAnyProduct) {
        view.Open(level, domains, product);
        const auto alike = Place(tree_, request);
        const auto* all = std::get_if<Placement>(&alike);
        if (all != nullptr && all->nodes.size() == seats.size()) {
          Take(view, seats, all->nodes);
          return std::nullopt;
        }
      }
      view.Open(level, domains, kAnyProduct);
      const auto answer = Place(tree_, request);
      if (const auto* no = std::get_if<Unplaceable>(&answer)) {
        if (level == anchor.level) return Refusal(anchor, workers, *no);
        continue;
      }
      const std::vector<std::string>& nodes = std::get<Placement>(answer).nodes;
      if (nodes.size() < seats.size() && level > anchor.level) continue;
      Take(view, seats, nodes);
      return std::nullopt;
    }
    return std::nullopt;
  }

  // Returns how many of the first seats may be on spot nodes, by number, beside those with nodes.
  std::vector<int> MostOnSpot(const std::vector<int>& seats) const {
    std::map<int, SpotSeat> all;
    for (const auto& [worker, name] : gang_.placed) all[worker] = {worker, true, false};
    for (const auto& [worker, node] : placed_) all[worker].on_spot = tree_.node(node).is_spot();
    for (const auto& [worker, name] : nodes_) {
      all[worker] = {worker, true, tree_.node(*tree_.FindNode(name)).is_spot()};
    }
    for (const int seat : seats) all[seat] = {seat, false, false};
    std::vector<SpotSeat> in_order;
    for (const auto& [worker, seat] : all) in_order.push_back(seat);
    const std::vector<Slice>& slices = gang_.request.slices;
    return SpotLeftFor(in_order, gang_.request.spot, gang_.request.min,
                       slices.empty() ? 1 : slices.front().size);
  }

  void Take(Narrowed& view, const std::vector<int>& seats, const std::vector<std::string>& nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (gang_.ended.contains(seats[i])) continue;
      nodes_[seats[i]] = nodes[i];
      view.Charge(*tree_.FindNode(nodes[i]), gang_.request.per_worker);
    }
  }

  // Returns the GPU product that all placed workers share; kAnyProduct if they share none, or if
  // the choice of a product does not matter.
  int ProductOfOthers() const {
    if (gang_.request.per_worker.gpus == 0 || tree_.gpu_products().size() < 2) return kAnyProduct;
    int product = kAnyProduct;
    for (const auto& [worker, node] : placed_) {
      const int has = tree_.node(node).gpu_product;
      if (product != kAnyProduct && product != has) return kAnyProduct;
      product = has;
    }
    return product;
  }

  Unplaceable Refusal(const Anchor& anchor, const std::vector<int>& workers,
                      const Unplaceable& no) const {
    Unplaceable refusal = no;
    const size_t all = gang_.placed.size() + gang_.missing.size();
    std::string where;
    if (anchor.level > 0) {
      where =
          absl::StrCat(" in ", tree_.PathOf(anchor.level, anchor.domain), ", where the others are");
    }
    refusal.sentence = absl::StrCat(workers.size(), " of ", all, " workers have no node", where,
                                    ": ", no.sentence);
    refusal.nearest_feasible_size =
        static_cast<int>(gang_.placed.size()) + no.nearest_feasible_size;
    return refusal;
  }

  TopologyTree& tree_;
  const PartialGang& gang_;
  std::map<int, int> placed_;  // worker -> the tree's node
  std::map<int, std::string> nodes_;
};

std::variant<Completion, Unplaceable> PlaceAll(const TopologyTree& tree, const PartialGang& gang,
                                               const std::map<std::string, Link>& links) {
  GangRequest request = RequestInWholeSlices(gang);
  const std::vector<int> seats = InWholeSlices(gang.missing, request.slices, gang.ended);
  request.max = std::min(request.max, static_cast<int>(seats.size()));
  auto answer = Place(tree, request, links);
  if (auto* no = std::get_if<Unplaceable>(&answer)) return std::move(*no);
  Completion completion;
  completion.gang = std::get<Placement>(std::move(answer));
  const std::vector<std::string>& nodes = completion.gang.nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!gang.ended.contains(seats[i])) completion.nodes[seats[i]] = nodes[i];
  }
  if (completion.nodes.size() == nodes.size()) return completion;
  std::vector<std::string> used;
  for (const auto& [worker, node] : completion.nodes) used.push_back(node);
  request.slices.clear();
  completion.gang = ScorePlacement(tree, request, used, links);
  return completion;
}

}  // namespace

GangRequest RequestInWholeSlices(const PartialGang& gang) {
  std::vector<int> workers = gang.missing;
  for (const auto& [worker, node] : gang.placed) workers.push_back(worker);
  std::sort(workers.begin(), workers.end());
  const std::vector<int> seats = InWholeSlices(workers, gang.request.slices, gang.ended);
  GangRequest request = gang.request;
  request.min = SeatsOfFirst(request.min, workers, seats);
  request.max += static_cast<int>(seats.size() - workers.size());
  return request;
}

std::variant<Completion, Unplaceable> CompleteGang(TopologyTree& tree, const PartialGang& gang,
                                                   const std::map<std::string, Link>& links) {
  if (gang.placed.empty()) return PlaceAll(tree, gang, links);
  bool known = gang.request.required_level.empty() || tree.FindLevel(gang.request.required_level);
  for (const Slice& slice : gang.request.slices) {
    known = known && tree.FindLevel(slice.level).has_value();
  }
  if (!known) {  // Place names the unknown level
    if (auto answer = Place(tree, gang.request); std::holds_alternative<Unplaceable>(answer)) {
      return std::get<Unplaceable>(std::move(answer));
    }
  }
  Completer completer(tree, gang);
  if (auto no = completer.Run()) return *std::move(no);
  Completion completion;
  completion.nodes = completer.TakeNodes();
  std::map<int, std::string> all = gang.placed;
  all.insert(completion.nodes.begin(), completion.nodes.end());
  std::vector<std::string> nodes;
  for (const auto& [worker, node] : all) nodes.push_back(node);
  completion.gang = ScorePlacement(tree, gang.request, nodes, links);
  return completion;
}

}  // namespace muster::control
