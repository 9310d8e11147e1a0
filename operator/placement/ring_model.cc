#include "operator/placement/ring_model.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "operator/placement/topology_labels.h"

namespace muster::control {
namespace {

struct Rung {
  const char* level;
  Link link;
};

// Narrow to broad. docs/placement.md names the source of each number.
constexpr Rung kLadder[] = {
    {"host", {450, 2}},         {"nvlink-partition", {450, 2}},
    {"nvlink", {450, 2}},       {"leaf", {50, 5}},
    {"spine", {50, 7}},         {"core", {50.0 / 7, 9}},
    {"tier-3", {50.0 / 7, 11}}, {"zone", {3, 50}},
    {"region", {1.5, 1000}},    {"", {0.5, 30'000}},
};
constexpr size_t kRungs = std::size(kLadder);
constexpr size_t kLeafRung = 3;
constexpr size_t kSpineRung = 4;

size_t RungOf(const std::string& level, size_t narrower) {
  std::string known = LevelOfLabel(level);
  if (level.rfind("tier-", 0) == 0 || known.rfind("tier-", 0) == 0) known = "tier-3";
  for (size_t i = 0; i + 1 < kRungs; ++i) {
    if (level == kLadder[i].level || known == kLadder[i].level) return i;
  }
  // Levels between nodes are at least a leaf.
  return std::clamp(narrower + 1, kLeafRung, kRungs - 1);
}

// Workers that share a leaf share the NVLink domain that it lies in, too: the fastest link counts.
const Link& FastestShared(const TopologyTree& tree, const LinkTable& links, int a, int b) {
  const int shared = tree.SharedLevel(a, b);
  const Link* fastest = &links[shared];
  int domain = tree.AncestorOf(a, shared);
  for (int level = shared; level > 0; --level) {
    const Link& link = links[level];
    const bool faster = link.gigabytes_per_second > fastest->gigabytes_per_second;
    if (faster && !tree.level(level)[domain].name.empty()) fastest = &link;
    domain = tree.level(level)[domain].parent;
  }
  return *fastest;
}

bool GetsNoFasterOutwards(const LinkTable& links) {
  return std::is_sorted(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return a.gigabytes_per_second < b.gigabytes_per_second;
  });
}

}  // namespace

LinkTable LinksOf(const TopologyTree& tree, const std::map<std::string, Link>& overrides) {
  LinkTable links(tree.depth());
  size_t broadest = 0;  // NVLink may come after the leaf
  for (int level = tree.node_level(); level >= 0; --level) {
    size_t rung = level == tree.node_level() ? 0 : RungOf(tree.level_name(level), broadest);
    broadest = std::max(broadest, rung);
    // Nodes without any known level share one fabric.
    if (level == 0 && tree.depth() == 2) rung = kSpineRung;
    const auto given = overrides.find(tree.level_name(level));
    links[level] = given != overrides.end() ? given->second : kLadder[rung].link;
  }
  return links;
}

double RingSeconds(const TopologyTree& tree, const LinkTable& links, const int* nodes, int workers,
                   double bytes) {
  double slowest_step = 0;
  const bool innermost = GetsNoFasterOutwards(links);
  for (int i = 0; workers > 1 && i < workers; ++i) {
    const int a = nodes[i];
    const int b = nodes[(i + 1) % workers];
    const Link& link = innermost ? links[tree.SharedLevel(a, b)] : FastestShared(tree, links, a, b);
    const double step =
        bytes / workers / (link.gigabytes_per_second * 1e9) + link.latency_us * 1e-6;
    slowest_step = std::max(slowest_step, step);
  }
  return 2.0 * (workers - 1) * slowest_step;
}

double SlowestRingSeconds(const TopologyTree& tree, const LinkTable& links,
                          const std::vector<int>& nodes, const std::vector<SliceAt>& slices) {
  constexpr double kBytes = 1e9;
  const int workers = static_cast<int>(nodes.size());
  double slowest = RingSeconds(tree, links, nodes.data(), workers, kBytes);
  for (const SliceAt& slice : slices) {
    for (int first = 0; first + slice.size <= workers; first += slice.size) {
      slowest =
          std::max(slowest, RingSeconds(tree, links, nodes.data() + first, slice.size, kBytes));
    }
  }
  return slowest;
}

}  // namespace muster::control
