#include "operator/placement/placement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/placement/gang_capacity.h"
#include "operator/placement/gang_choice.h"

namespace muster::control {
namespace {

bool IsNegative(const Resources& r) {
  return r.gpus < 0 || r.cpu_millis < 0 || r.memory_bytes < 0 || r.slots < 0;
}

std::string InvalidSize(const GangRequest& request) {
  if (request.min < 1 || request.min > request.max) {
    return absl::StrCat("min is ", request.min, " and max is ", request.max,
                        "; 1 <= min <= max is needed");
  }
  if (IsNegative(request.per_worker)) return "a worker asks for a negative amount";
  for (size_t i = 0; i < request.slices.size(); ++i) {
    const int size = request.slices[i].size;
    if (size < 1 || size > request.max) {
      return absl::StrCat("no size up to ", request.max, " is made of slices of ", size);
    }
    if (i > 0 && request.slices[i - 1].size % size != 0) {
      return absl::StrCat("slices of ", request.slices[i - 1].size,
                          " are not made of whole slices of ", size);
    }
  }
  return "";
}

// Fills `plan`, or returns what is wrong.
std::string Resolve(const TopologyTree& tree, const GangRequest& request, GangPlan& plan) {
  std::string error = InvalidSize(request);
  auto find = [&](const std::string& name) {
    if (name.empty()) return 0;
    const std::optional<int> level = tree.FindLevel(name);
    if (level) return *level;
    if (!error.empty()) return 0;
    error = absl::StrCat("there is no topology level \"", name, "\"; known:");
    for (int known = 1; known < tree.depth(); ++known) {
      absl::StrAppend(&error, known > 1 ? ", " : " ", tree.level_name(known));
    }
    return 0;
  };
  plan.per_worker = request.per_worker;
  plan.required = find(request.required_level);
  plan.preferred =
      request.preferred_level.empty() ? tree.node_level() : find(request.preferred_level);
  plan.preferred = std::max(plan.preferred, plan.required);
  if (request.spot.given && !tree.spot_pools().empty() && error.empty()) {
    plan.spot = request.most_on_spot.empty() ? SpotLimit(request.spot, request.min, request.max)
                                             : SpotLimit(request.most_on_spot, request.min);
  }
  for (const Slice& slice : request.slices) {
    plan.slices.push_back({slice.size, find(slice.level)});
    const size_t i = plan.slices.size() - 1;
    if (error.empty() && i > 0 && plan.slices[i].level < plan.slices[i - 1].level) {
      error = absl::StrCat("a slice within a ", request.slices[i - 1].level,
                           " cannot spread over a ", slice.level);
    }
  }
  return error;
}

std::string WhatIsAsked(const GangRequest& request) {
  std::string asked = absl::StrCat(request.min, " workers");
  if (!request.required_level.empty()) {
    absl::StrAppend(&asked, " in one ", request.required_level);
  }
  for (const Slice& slice : request.slices) {
    absl::StrAppend(&asked, ", ", slice.size, " at a time in one ", slice.level);
  }
  return asked;
}

std::string Amount(const Resources& r) {
  std::vector<std::string> parts;
  if (r.gpus > 0) parts.push_back(absl::StrCat(r.gpus, r.gpus == 1 ? " GPU" : " GPUs"));
  if (r.cpu_millis > 0) parts.push_back(absl::StrCat(r.cpu_millis / 1000.0, " CPUs"));
  if (r.memory_bytes > 0) {
    parts.push_back(absl::StrCat((r.memory_bytes >> 20) / 1024.0, " GiB of memory"));
  }
  return parts.empty() ? "a place for a pod" : absl::StrJoin(parts, ", ");
}

// Explains why not one worker fits. Names the most of each resource that is free on one node, which
// need not be the same node for all.
std::string NoRoomAnywhere(const TopologyTree& tree, const Resources& asked) {
  const int nodes = static_cast<int>(tree.level(tree.node_level()).size());
  Resources most;
  int usable = 0;
  for (int i = 0; i < nodes; ++i) {
    if (!tree.node(i).schedulable) continue;
    ++usable;
    const Resources& free = tree.node(i).free;
    most.gpus = std::max(most.gpus, free.gpus);
    most.cpu_millis = std::max(most.cpu_millis, free.cpu_millis);
    most.memory_bytes = std::max(most.memory_bytes, free.memory_bytes);
    most.slots = std::max(most.slots, free.slots);
  }
  if (nodes == 0) return "the cluster has no nodes";
  if (usable == 0) return absl::StrCat("none of the ", nodes, " nodes may be used now");
  std::vector<std::string> shorts;
  const auto add = [&](int64_t have, int64_t need, const Resources& what, const char* none) {
    if (have < need) shorts.push_back(have > 0 ? Amount(what) : none);
  };
  add(most.gpus, asked.gpus, {most.gpus, 0, 0, 0}, "no GPU");
  add(most.cpu_millis, asked.cpu_millis, {0, most.cpu_millis, 0, 0}, "no CPU");
  add(most.memory_bytes, asked.memory_bytes, {0, 0, most.memory_bytes, 0}, "no memory");
  add(most.slots, asked.slots, {}, "no place for another pod");
  return absl::StrCat("a worker asks for ", Amount(asked), "; ",
                      shorts.empty() ? "no node has all of it free"
                                     : absl::StrCat("the most that is free on one node is ",
                                                    absl::StrJoin(shorts, ", ")),
                      " (", usable, " of ", nodes, " nodes may be used)");
}

// Returns the nodes of a gang of that size on an empty cluster, by the same rules. A gang whose job
// has tightened its bounds on spot nodes since may have none by them: then they do not count.
std::vector<int> IdealNodes(const TopologyTree& tree, const GangRequest& request, GangPlan plan,
                            size_t workers) {
  const auto size = static_cast<int64_t>(workers);
  if (plan.spot) plan.spot.emplace(request.spot, size, size);
  const auto find = [&] {
    const GangCapacity empty(tree, request.per_worker, plan.slices, Occupancy::kEmpty, {},
                             plan.spot_limit());
    return NodesForGang(tree, empty, plan, size);
  };
  std::vector<int> nodes = find();
  if (!nodes.empty() || !plan.spot) return nodes;
  plan.spot.reset();
  return find();
}

// Judges the gang on these nodes, one for each worker.
Placement Scored(const TopologyTree& tree, const GangRequest& request, const GangPlan& plan,
                 const std::vector<int>& nodes, const std::map<std::string, Link>& links) {
  Placement placement;
  if (nodes.empty()) return placement;
  int level = tree.node_level();
  for (int node : nodes) {
    placement.nodes.push_back(tree.level(tree.node_level())[node].name);
    level = std::min(level, tree.SharedLevel(nodes.front(), node));
  }
  placement.level = tree.level_name(level);
  placement.domain = tree.PathOf(level, tree.AncestorOf(nodes.front(), level));

  const LinkTable table = LinksOf(tree, links);
  placement.ring_seconds = SlowestRingSeconds(tree, table, nodes, plan.slices);
  const std::vector<int> ideal = IdealNodes(tree, request, plan, nodes.size());
  const double best = SlowestRingSeconds(tree, table, ideal, plan.slices);
  const bool comparable = placement.ring_seconds > 0 && !ideal.empty();
  if (comparable) placement.score = std::min(1.0, best / placement.ring_seconds);
  return placement;
}

Unplaceable Explain(const TopologyTree& tree, const GangCapacity& capacity, const DomainShare& best,
                    const GangRequest& request) {
  const int64_t fit = std::min<int64_t>(capacity.workers(), request.max);
  const int feasible = static_cast<int>(best.workers);
  if (capacity.workers() == 0) {
    return {UnplaceableReason::kNoNodeBigEnough, NoRoomAnywhere(tree, request.per_worker), 0};
  }
  if (fit < request.min) {
    return {UnplaceableReason::kInsufficient,
            absl::StrCat("room for ", fit, " of at least ", request.min, " workers"), feasible};
  }
  const std::string where = best.index < 0 || best.level == 0
                                ? absl::StrCat("there is room for ", feasible, " so")
                                : absl::StrCat("the best, ", tree.PathOf(best.level, best.index),
                                               ", has room for ", feasible);
  return {UnplaceableReason::kTopology,
          absl::StrCat(WhatIsAsked(request), " are asked for; ", where, ", and for ", fit,
                       " without that condition"),
          feasible};
}

// Returns the bounds that keep workers off spot nodes at that size, as the user wrote them.
std::string SpotFields(const GangRequest& request, int64_t size) {
  const SpotBounds& spot = request.spot;
  if (!spot.allow) return "spot.allow: false";
  const bool by_fraction = spot.max_fraction < 1;
  const bool by_floor = spot.on_demand_floor > 0;
  if (!by_fraction || !by_floor) return by_floor ? "spot.onDemandFloor" : "spot.maxFraction";
  SpotBounds without_floor = spot;
  without_floor.on_demand_floor = 0;
  if (!request.most_on_spot.empty()) return "spot.maxFraction and spot.onDemandFloor";
  return without_floor.MostOf(size) > spot.MostOf(size) ? "spot.onDemandFloor" : "spot.maxFraction";
}

// The domain of the required level with most room on nodes that are not spot nodes.
DomainShare MostOnDemand(const TopologyTree& tree, const GangRequest& request,
                         const GangPlan& plan) {
  GangPlan loose = plan;
  loose.slices.clear();
  const GangCapacity on_demand(tree, request.per_worker, {}, Occupancy::kNow,
                               {.spot = NodeKind::Spot::kNone});
  return LargestGang(tree, on_demand, loose, kUnboundedWorkers);
}

// Explains a refusal of a gang whose workers on spot nodes may be bounded.
Unplaceable ExplainBySpot(const TopologyTree& tree, const GangCapacity& capacity,
                          const DomainShare& best, const GangRequest& request,
                          const GangPlan& plan) {
  if (!plan.spot) return Explain(tree, capacity, best, request);
  const GangCapacity any(tree, request.per_worker, plan.slices, Occupancy::kNow);
  const int unit = any.outermost_slice();
  const DomainShare without = LargestGang(tree, any, plan, request.max / unit * unit);
  if (without.workers < request.min) {
    Unplaceable no = Explain(tree, any, without, request);
    no.nearest_feasible_size = static_cast<int>(best.workers);
    return no;
  }
  const int64_t size = (request.min + unit - 1) / unit * unit;
  const int64_t needed = size - plan.spot->MostOf(size);
  const DomainShare most = MostOnDemand(tree, request, plan);
  std::string sentence;
  if (!request.required_level.empty() || !request.slices.empty()) {
    sentence = absl::StrCat(WhatIsAsked(request), " are asked for; ");
  }
  absl::StrAppend(&sentence, "needs ", needed, needed == 1 ? " worker" : " workers",
                  " on nodes that are not spot nodes (", SpotFields(request, size), "); ");
  const bool few = most.workers < needed;
  if (few && most.index >= 0 && most.level > 0) {
    absl::StrAppend(&sentence, "the best, ", tree.PathOf(most.level, most.index), ", has room for ",
                    most.workers);
  } else if (few) {
    absl::StrAppend(&sentence, most.workers, most.workers == 1 ? " fits" : " fit");
  } else {
    absl::StrAppend(&sentence, "there is room for ", best.workers, " workers so");
  }
  return {UnplaceableReason::kSpotLimit, std::move(sentence), static_cast<int>(best.workers)};
}

}  // namespace

absl::string_view Name(UnplaceableReason reason) {
  switch (reason) {
    case UnplaceableReason::kInvalidRequest:
      return "InvalidRequest";
    case UnplaceableReason::kNoNodeBigEnough:
      return "NoNodeBigEnough";
    case UnplaceableReason::kInsufficient:
      return "Insufficient";
    case UnplaceableReason::kTopology:
      return "Topology";
    case UnplaceableReason::kSpotLimit:
      return "SpotLimit";
  }
  return "";
}

std::variant<Placement, Unplaceable> Place(const TopologyTree& tree, const GangRequest& request,
                                           const std::map<std::string, Link>& links) {
  GangPlan plan;
  if (std::string error = Resolve(tree, request, plan); !error.empty()) {
    return Unplaceable{UnplaceableReason::kInvalidRequest, std::move(error), 0};
  }
  const GangCapacity now(tree, request.per_worker, plan.slices, Occupancy::kNow, {},
                         plan.spot_limit());
  const int most = request.max / now.outermost_slice() * now.outermost_slice();
  const DomainShare largest = LargestGang(tree, now, plan, most);
  if (largest.workers < request.min) return ExplainBySpot(tree, now, largest, request, plan);

  return Scored(tree, request, plan, AlikeNodesForGang(tree, now, plan, largest.workers), links);
}

Placement ScorePlacement(const TopologyTree& tree, const GangRequest& request,
                         const std::vector<std::string>& nodes,
                         const std::map<std::string, Link>& links) {
  GangPlan plan;
  if (!Resolve(tree, request, plan).empty()) {
    plan = GangPlan{request.per_worker, 0, tree.node_level(), {}};
  }
  std::vector<int> known;
  for (const std::string& name : nodes) {
    if (const std::optional<int> node = tree.FindNode(name)) known.push_back(*node);
  }
  return Scored(tree, request, plan, known, links);
}

std::variant<Placement, Unplaceable> Place(const Inventory& inventory, const GangRequest& request) {
  return Place(TopologyTree(inventory), request);
}

}  // namespace muster::control
