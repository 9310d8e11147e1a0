#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/testing/test_iterations.h"
#include "gtest/gtest.h"
#include "operator/scheduler/gang/placer_fixture.h"

// Compares PlaceGang() on random small clusters with a search through every order of every
// assignment. The judge of what is legal reads labels and does not use the filters.
namespace muster::control {
namespace {

constexpr unsigned kFirstSeed = 1;

constexpr char kHost[] = "kubernetes.io/hostname";
constexpr char kPort[] = "{\"containerPort\": 1, \"hostPort\": 8080}";

struct Site {
  NodeLabels labels;
  int free = 0;
  bool data = false;  // a pod of app=data is there
  bool shy = false;   // a pod that keeps the gang out of its rack
  bool web = false;   // a pod that has the host port
};

struct Case {
  std::vector<Site> sites;
  int min = 1;
  int count = 1;
  std::vector<int> placed;  // sites of the first workers
  bool require = false;     // one leaf
  std::string slices;       // two workers each share this label; empty: none
  bool port = false;
  std::vector<std::string> together;  // labels
  std::vector<std::string> apart;
  std::string near_data;
  std::string far_from_data;
  std::string spread;
  int max_skew = 1;
};

using Counts = std::vector<int>;  // workers by site

bool Share(const Site& a, const Site& b, const std::string& label) {
  const auto one = a.labels.find(label);
  const auto other = b.labels.find(label);
  return one != a.labels.end() && other != b.labels.end() && one->second == other->second;
}

// Returns true if `is` holds for a site that shares the label's domain with `to`.
template <typename Is>
bool AnySharing(const Case& c, const Site& to, const std::string& label, Is is) {
  for (size_t i = 0; i < c.sites.size(); ++i) {
    if (Share(c.sites[i], to, label) && is(i)) return true;
  }
  return false;
}

bool SpreadAllows(const Case& c, const Counts& counts, const Site& to) {
  if (c.spread.empty()) return true;
  std::map<std::string, int> domains;
  for (size_t i = 0; i < c.sites.size(); ++i) {
    const auto label = c.sites[i].labels.find(c.spread);
    if (label != c.sites[i].labels.end()) domains[label->second] += counts[i];
  }
  const auto own = to.labels.find(c.spread);
  if (own == to.labels.end()) return false;
  const int fewest = std::min_element(domains.begin(), domains.end(), [](auto& a, auto& b) {
                       return a.second < b.second;
                     })->second;
  return domains.at(own->second) + 1 - fewest <= c.max_skew;
}

// Returns true if one more worker of the gang may go to the site.
bool MayJoin(const Case& c, const Counts& counts, size_t at) {
  const Site& to = c.sites[at];
  const auto has_worker = [&](size_t i) { return counts[i] > 0; };
  const auto has_data = [&](size_t i) { return c.sites[i].data; };
  const auto is_shy = [&](size_t i) { return c.sites[i].shy; };
  if (counts[at] >= to.free) return false;
  if (c.port && (counts[at] > 0 || to.web)) return false;
  if (c.require && to.labels.count("leaf") == 0) return false;
  const bool first = std::count(counts.begin(), counts.end(), 0) == std::ssize(counts);
  if (c.require && !first && !AnySharing(c, to, "leaf", has_worker)) return false;
  for (const std::string& label : c.together) {
    if (to.labels.count(label) == 0) return false;
    if (!first && !AnySharing(c, to, label, has_worker)) return false;
  }
  for (const std::string& label : c.apart) {
    if (AnySharing(c, to, label, has_worker)) return false;
  }
  if (!c.near_data.empty() && !AnySharing(c, to, c.near_data, has_data)) return false;
  if (!c.far_from_data.empty() && AnySharing(c, to, c.far_from_data, has_data)) return false;
  if (AnySharing(c, to, "rack", is_shy)) return false;
  return SpreadAllows(c, counts, to);
}

Case RandomCase(unsigned seed) {
  std::mt19937 random(seed);
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  auto often = [&](int of) { return pick(1, of) == 1; };
  const std::vector<std::string> labels = {"rack", "row", "leaf", kHost};
  auto label = [&] { return labels[pick(0, 3)]; };
  Case c;
  c.sites.resize(pick(1, 5));
  for (size_t i = 0; i < c.sites.size(); ++i) {
    Site& site = c.sites[i];
    site.free = pick(0, 3);
    site.labels[kHost] = absl::StrCat("n", i);
    for (const char* key : {"rack", "row", "leaf"}) {
      if (!often(10)) site.labels[key] = absl::StrCat(key, pick(0, 2));
    }
    site.data = often(3);
    site.shy = often(12);
    site.web = often(5);
  }
  c.count = pick(1, 5);
  c.min = pick(1, c.count);
  c.require = often(3);
  c.port = often(5);
  if (often(3)) c.together = {label()};
  if (often(8)) c.together = {"rack", "row"};
  if (often(3)) c.apart = {label()};
  if (often(6)) c.apart = {"rack", "row"};
  if (c.together.empty() && often(6)) c.near_data = label();
  if (often(6)) c.far_from_data = label();
  if (often(3)) c.spread = label();
  c.max_skew = pick(1, 2);
  Counts counts(c.sites.size());
  for (int i = often(4) ? pick(1, 2) : 0; i > 0 && std::ssize(c.placed) + 1 < c.count; --i) {
    const int at = pick(0, static_cast<int>(c.sites.size()) - 1);
    if (!MayJoin(c, counts, at)) continue;
    ++counts[at];
    c.placed.push_back(at);
  }
  if (c.count > 1 && c.placed.size() < 2 && often(8)) c.slices = often(2) ? kHost : "leaf";
  // Slices require that a placed worker is in a leaf.
  if (!c.placed.empty() && c.sites[c.placed[0]].labels.count("leaf") == 0) c.slices.clear();
  return c;
}

Json SpecOf(const Case& c) {
  Json spec = Json::object();
  if (!c.together.empty()) Want(spec, "podAffinity", "gang", c.together);
  if (!c.near_data.empty()) Want(spec, "podAffinity", "data", {c.near_data});
  if (!c.apart.empty()) Want(spec, "podAntiAffinity", "gang", c.apart);
  if (!c.far_from_data.empty()) Want(spec, "podAntiAffinity", "data", {c.far_from_data});
  if (!c.spread.empty()) Spread(spec, c.spread, c.max_skew);
  spec["containers"] = Json::array({{{"name", "worker"}}});
  if (c.port) spec["containers"][0]["ports"] = Json::array({Json::parse(kPort)});
  return spec;
}

void Fill(const Case& c, PlacerWorld& world) {
  world.model.SetLevels(std::vector<std::string>{"leaf"});
  const Json bare = {{"containers", Json::array({{{"name", "c"}}})}};
  for (size_t i = 0; i < c.sites.size(); ++i) {
    const Site& site = c.sites[i];
    const std::string node = site.labels.at(kHost);
    world.AddNode(node, site.free, site.labels);
    if (site.data) world.Bind("data-" + node, "data", node, bare);
    Json shy = bare;
    Want(shy, "podAntiAffinity", "gang", {"rack"});
    if (site.shy) world.Bind("shy-" + node, "shy", node, shy);
    Json web = bare;
    web["containers"][0]["ports"] = Json::array({Json::parse(kPort)});
    if (site.web) world.Bind("web-" + node, "web", node, web);
  }
  world.SetGang(c.min, c.count, SpecOf(c));
  if (c.require) world.gang.request.required_level = "leaf";
  if (!c.slices.empty()) {
    world.gang.request.slices = {{2, c.slices == kHost ? kHostLevel : c.slices}};
  }
  Json held = SpecOf(c);
  held["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1";
  for (size_t worker = 0; worker < c.placed.size(); ++worker) {
    const std::string node = c.sites[c.placed[worker]].labels.at(kHost);
    world.Bind(absl::StrCat("placed-", worker), "gang", node, held);
    world.gang.placed[static_cast<int>(worker)] = node;
    world.gang.missing.erase(world.gang.missing.begin());
    world.pods.erase(static_cast<int>(worker));
  }
}

Counts Start(const Case& c) {
  Counts counts(c.sites.size());
  for (int at : c.placed) ++counts[at];
  return counts;
}

int LargestFrom(const Case& c, const Counts& counts, int size, std::set<Counts>& seen) {
  int largest = size;
  if (size == c.count || !seen.insert(counts).second) return largest;
  for (size_t at = 0; at < c.sites.size() && largest < c.count; ++at) {
    if (!MayJoin(c, counts, at)) continue;
    Counts next = counts;
    ++next[at];
    largest = std::max(largest, LargestFrom(c, next, size + 1, seen));
  }
  return largest;
}

// Returns the size of the largest legal gang over every order of every assignment.
int Largest(const Case& c) {
  std::set<Counts> seen;
  return LargestFrom(c, Start(c), static_cast<int>(c.placed.size()), seen);
}

std::string Describe(const Case& c) {
  std::string text = absl::StrCat("min ", c.min, " count ", c.count);
  if (c.require) text += " require";
  if (c.port) text += " port";
  if (!c.slices.empty()) absl::StrAppend(&text, " slices ", c.slices);
  absl::StrAppend(&text, " together ", absl::StrJoin(c.together, "+"), " apart ",
                  absl::StrJoin(c.apart, "+"), " near data ", c.near_data, " far from data ",
                  c.far_from_data, " spread ", c.spread, " ", c.max_skew, " placed ",
                  absl::StrJoin(c.placed, ","));
  for (const Site& site : c.sites) {
    absl::StrAppend(&text, "\n  free ", site.free, site.data ? " data" : "", site.shy ? " shy" : "",
                    site.web ? " web" : "");
    for (const auto& [key, value] : site.labels) absl::StrAppend(&text, " ", key, "=", value);
  }
  return text;
}

std::string FreeOf(const TopologyTree& tree) {
  std::string text;
  for (const auto& node : tree.level(tree.node_level())) {
    absl::StrAppend(&text, node.free.gpus, " ");
  }
  return absl::StrCat(text, tree.level(0)[0].free.slots);
}

// Returns true if the case has rules by several labels whose domains lie across each other. No
// choice of a worker's place is taken back, so for these, and for slices, only legality is
// promised.
bool Cross(const Case& c) {
  std::set<std::string> labels(c.apart.begin(), c.apart.end());
  if (!c.spread.empty()) labels.insert(c.spread);
  labels.erase(kHost);
  return labels.size() > 1;
}

// Expects that each worker may be at its place with those before it in place.
void ExpectLegal(const Case& c, const Completion& completion) {
  Counts counts = Start(c);
  for (const auto& [worker, node] : completion.nodes) {
    const size_t at = std::stoul(node.substr(1));
    EXPECT_TRUE(MayJoin(c, counts, at)) << "worker " << worker << " on " << node;
    ++counts[at];
  }
}

// Expects each slice to share a domain and to have two workers, unless one was placed before.
void ExpectWholeSlices(const Case& c, const Completion& completion) {
  std::map<int, std::set<std::string>> shared;
  std::map<int, int> workers;
  const auto add = [&](int worker, const Site& site) {
    shared[worker / 2].insert(site.labels.at(c.slices));
    ++workers[worker / 2];
  };
  for (size_t i = 0; i < c.placed.size(); ++i) add(static_cast<int>(i), c.sites[c.placed[i]]);
  for (const auto& [worker, node] : completion.nodes)
    add(worker, c.sites[std::stoul(node.substr(1))]);
  for (const auto& [slice, count] : workers) {
    if (2 * slice >= static_cast<int>(c.placed.size())) EXPECT_EQ(count, 2) << slice;
    EXPECT_EQ(shared[slice].size(), 1u) << slice;
  }
}

TEST(GangPlacerPropertyTest, NoPlacementBreaksARuleAndNoneThatIsPossibleIsRefused) {
  const int clusters = TestIterations({300, 2'000, 20'000});
  int placed = 0;
  int refused = 0;
  int crossing = 0;
  int missed = 0;
  int sliced = 0;
  for (int i = 0; i < clusters; ++i) {
    const unsigned seed = kFirstSeed + i;
    const Case c = RandomCase(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", Describe(c)));
    PlacerWorld world;
    Fill(c, world);
    const std::string before = FreeOf(world.model.Tree());
    const PlacementAnswer answer = world.Place();
    EXPECT_EQ(FreeOf(world.model.Tree()), before);
    const int largest = Largest(c);
    const int had = static_cast<int>(c.placed.size());
    const bool possible = largest >= std::max(c.min, had + 1);
    const auto* completion = std::get_if<Completion>(&answer);
    const int size = completion == nullptr ? 0 : had + static_cast<int>(completion->nodes.size());
    if (completion != nullptr) {
      ++placed;
      ExpectLegal(c, *completion);
      if (!c.slices.empty()) ExpectWholeSlices(c, *completion);
      EXPECT_GE(size, c.min);
    } else {
      ++refused;
    }
    const int best = possible ? largest : 0;
    EXPECT_LE(size, best);
    if (!c.slices.empty()) {
      ++sliced;
    } else if (Cross(c)) {
      ++crossing;
      missed += size < best;
    } else {
      EXPECT_EQ(size, best);
    }
  }
  EXPECT_GT(placed, clusters / 4);
  EXPECT_GT(refused, clusters / 8);
  EXPECT_GT(crossing, clusters / 8);
  EXPECT_LE(missed, crossing / 50 + 1);
  EXPECT_GT(sliced, clusters / 20);
}

}  // namespace
}  // namespace muster::control
