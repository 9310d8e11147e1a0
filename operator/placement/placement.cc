#include "operator/placement/placement.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"

namespace muster::control {
namespace {

// A node that can take at least one worker.
struct Candidate {
  const NodeInventory* node = nullptr;
  int capacity = 0;  // workers
};
using Candidates = std::vector<Candidate>;
using Path = std::vector<std::string>;

bool IsNegative(const Resources& r) {
  return r.gpus < 0 || r.cpu_millis < 0 || r.memory_bytes < 0 || r.slots < 0;
}

// More workers than any gang has: what a node takes that nothing is asked of.
constexpr int64_t kUnbounded = 1'000'000;

// How many workers fit.
int Capacity(const Resources& free, const Resources& each) {
  int64_t fit = kUnbounded;
  auto bound = [&fit](int64_t have, int64_t need) {
    if (need > 0) fit = std::min(fit, std::max<int64_t>(0, have) / need);
  };
  bound(free.gpus, each.gpus);
  bound(free.cpu_millis, each.cpu_millis);
  bound(free.memory_bytes, each.memory_bytes);
  bound(free.slots, each.slots);
  return static_cast<int>(fit);
}

// -1 for no level.
std::optional<int> LevelDepth(const Inventory& inventory, const std::string& level) {
  if (level.empty()) return -1;
  const auto found = std::find(inventory.levels.begin(), inventory.levels.end(), level);
  if (found == inventory.levels.end()) return std::nullopt;
  return static_cast<int>(found - inventory.levels.begin());
}

// Candidates by their domain of the level at `depth`; nodes that are nowhere at it are left out.
std::map<Path, Candidates> GroupBy(const Candidates& candidates, int depth) {
  std::map<Path, Candidates> groups;
  for (const Candidate& candidate : candidates) {
    const Path& domains = candidate.node->domains;
    const size_t length = static_cast<size_t>(depth + 1);
    if (domains.size() < length) continue;
    groups[Path(domains.begin(), domains.begin() + length)].push_back(candidate);
  }
  return groups;
}

int64_t Total(const Candidates& candidates) {
  int64_t total = 0;
  for (const Candidate& candidate : candidates) total += candidate.capacity;
  return total;
}

struct Depths {
  int required = -1;
  int preferred = -1;
  int slice = -1;
};

// The largest gang of whole slices that fits into `group`, at most request.max.
int BestSize(const Candidates& group, const GangRequest& request, const Depths& depths) {
  int64_t size = 0;
  for (const auto& [path, nodes] : GroupBy(group, depths.slice)) {
    size += Total(nodes) / request.slice_size * request.slice_size;
  }
  const int most = request.max / request.slice_size * request.slice_size;
  return static_cast<int>(std::min<int64_t>(size, most));
}

// Splits `size` over `capacities`, in multiples of `unit`, into few bins: the smallest that takes
// all that is left, or else the largest. Returns the amount for each.
std::vector<int> BestFit(const std::vector<int64_t>& capacities, int size, int unit) {
  std::vector<int> amounts(capacities.size(), 0);
  std::vector<bool> used(capacities.size(), false);
  auto usable = [&](size_t i) { return capacities[i] / unit * unit; };
  int left = size;
  while (left > 0) {
    size_t best = capacities.size();
    for (size_t i = 0; i < capacities.size(); ++i) {
      if (used[i]) continue;
      if (best == capacities.size()) {
        best = i;
        continue;
      }
      const bool fits = usable(i) >= left;
      const bool best_fits = usable(best) >= left;
      const bool tighter = fits && best_fits && capacities[i] < capacities[best];
      const bool larger = !fits && !best_fits && usable(i) > usable(best);
      if ((fits && !best_fits) || tighter || larger) best = i;
    }
    if (best == capacities.size()) break;
    used[best] = true;
    amounts[best] = static_cast<int>(std::min<int64_t>(left, usable(best)));
    left -= amounts[best];
  }
  return amounts;
}

void AssignNodes(Candidates nodes, int size, std::vector<std::string>& out) {
  std::sort(nodes.begin(), nodes.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.node->domains, a.node->name) < std::tie(b.node->domains, b.node->name);
  });
  std::vector<int64_t> capacities;
  for (const Candidate& node : nodes) capacities.push_back(node.capacity);
  const std::vector<int> amounts = BestFit(capacities, size, 1);
  for (size_t i = 0; i < nodes.size(); ++i) out.insert(out.end(), amounts[i], nodes[i].node->name);
}

std::vector<std::string> Assign(const Candidates& group, int size, const GangRequest& request,
                                const Depths& depths) {
  const std::map<Path, Candidates> slices = GroupBy(group, depths.slice);
  std::vector<int64_t> capacities;
  for (const auto& [path, nodes] : slices) capacities.push_back(Total(nodes));
  const std::vector<int> amounts = BestFit(capacities, size, request.slice_size);
  std::vector<std::string> out;
  size_t i = 0;
  for (const auto& [path, nodes] : slices) AssignNodes(nodes, amounts[i++], out);
  return out;
}

std::string SharedDomain(const Inventory& inventory, const std::vector<std::string>& nodes) {
  const std::set<std::string> names(nodes.begin(), nodes.end());
  std::optional<Path> shared;
  for (const NodeInventory& node : inventory.nodes) {
    if (names.count(node.name) == 0) continue;
    if (!shared) shared = node.domains;
    const auto [end, unused] =
        std::mismatch(shared->begin(), shared->end(), node.domains.begin(), node.domains.end());
    shared->erase(end, shared->end());
  }
  return shared ? absl::StrJoin(*shared, "/") : "";
}

struct Choice {
  int size = 0;
  Candidates group;
};

// The group with the largest gang; of equals the one that is left the fullest, then the first.
Choice ChooseGroup(const Candidates& candidates, int depth, const GangRequest& request,
                   const Depths& depths) {
  Choice best;
  int64_t best_left = std::numeric_limits<int64_t>::max();
  for (const auto& [path, group] : GroupBy(candidates, depth)) {
    const int size = BestSize(group, request, depths);
    const int64_t left = Total(group) - size;
    if (size > best.size || (size == best.size && size > 0 && left < best_left)) {
      best = {size, group};
      best_left = left;
    }
  }
  return best;
}

std::string Invalid(const Inventory& inventory, const GangRequest& request) {
  if (request.min < 1 || request.min > request.max) {
    return absl::StrCat("min is ", request.min, " and max is ", request.max,
                        "; 1 <= min <= max is needed");
  }
  if (request.slice_size < 1 || request.slice_size > request.max) {
    return absl::StrCat("no size up to ", request.max, " is made of slices of ",
                        request.slice_size);
  }
  if (IsNegative(request.per_worker)) return "a worker asks for a negative amount";
  for (const std::string* level :
       {&request.required_level, &request.preferred_level, &request.slice_level}) {
    if (!LevelDepth(inventory, *level)) {
      return absl::StrCat("there is no topology level \"", *level,
                          "\"; known: ", absl::StrJoin(inventory.levels, ", "));
    }
  }
  return "";
}

Unplaceable Explain(const Candidates& candidates, int feasible, const GangRequest& request) {
  const int64_t fit = std::min<int64_t>(Total(candidates), request.max);
  if (candidates.empty()) {
    return {UnplaceableReason::kNoNodeBigEnough,
            absl::StrCat("no schedulable node has room for one worker (", request.per_worker.gpus,
                         " GPUs, ", request.per_worker.cpu_millis, " millicores, ",
                         request.per_worker.memory_bytes, " bytes)"),
            0};
  }
  if (fit < request.min) {
    return {UnplaceableReason::kInsufficient,
            absl::StrCat("room for ", fit, " of at least ", request.min, " workers"), feasible};
  }
  return {
      UnplaceableReason::kTopology,
      absl::StrCat("room for ", fit, " workers, but for only ", feasible, " of at least ",
                   request.min, " within one domain of level ",
                   request.required_level.empty() ? request.slice_level : request.required_level),
      feasible};
}

}  // namespace

absl::string_view UnplaceableReasonName(UnplaceableReason reason) {
  switch (reason) {
    case UnplaceableReason::kInvalidRequest:
      return "InvalidRequest";
    case UnplaceableReason::kNoNodeBigEnough:
      return "NoNodeBigEnough";
    case UnplaceableReason::kInsufficient:
      return "Insufficient";
    case UnplaceableReason::kTopology:
      return "Topology";
  }
  return "";
}

std::variant<Placement, Unplaceable> Place(const Inventory& inventory, const GangRequest& request) {
  if (std::string error = Invalid(inventory, request); !error.empty()) {
    return Unplaceable{UnplaceableReason::kInvalidRequest, std::move(error), 0};
  }
  const Depths depths{*LevelDepth(inventory, request.required_level),
                      *LevelDepth(inventory, request.preferred_level),
                      *LevelDepth(inventory, request.slice_level)};
  Candidates candidates;
  for (const NodeInventory& node : inventory.nodes) {
    const int capacity = Capacity(node.free, request.per_worker);
    if (node.schedulable && capacity > 0) candidates.push_back({&node, capacity});
  }
  Choice choice = ChooseGroup(candidates, depths.required, request, depths);
  if (choice.size < request.min) return Explain(candidates, choice.size, request);
  const Choice closer = ChooseGroup(choice.group, depths.preferred, request, depths);
  if (closer.size == choice.size) choice = closer;
  Placement placement;
  placement.nodes = Assign(choice.group, choice.size, request, depths);
  placement.domain = SharedDomain(inventory, placement.nodes);
  return placement;
}

}  // namespace muster::control
