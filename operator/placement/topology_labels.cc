#include "operator/placement/topology_labels.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

// Fabric tiers count from the switch next to the node: 0 is the leaf, whatever the source counts.
constexpr int kTiers = 16;

struct Position {
  std::string region;
  std::string zone;
  std::array<std::string, kTiers> tiers;
  std::string nvlink;
  std::string partition;
  std::string host;
};

// A source of fabric tiers: label keys, tier 0 first.
struct FabricSource {
  const char* name;
  std::vector<std::string> keys;
};

const std::vector<FabricSource>& FabricSources() {
  static const auto* const kSources = [] {
    auto* sources = new std::vector<FabricSource>{
        {"topograph 1.0", {}},
        {"topograph 0.5",
         {"network.topology.nvidia.com/leaf", "network.topology.nvidia.com/spine",
          "network.topology.nvidia.com/core"}},
        {"topograph 0.1",
         {"network.topology.nvidia.com/block", "network.topology.nvidia.com/spine",
          "network.topology.nvidia.com/datacenter"}},
        {"Google",
         {"cloud.google.com/gce-topology-subblock", "cloud.google.com/gce-topology-block"}},
        {"OCI",
         {"oci.oraclecloud.com/rdma.local_block_id", "oci.oraclecloud.com/rdma.network_block_id",
          "oci.oraclecloud.com/rdma.hpc_island_id"}},
        {"CoreWeave",
         {"backend.coreweave.cloud/leafgroup", "backend.coreweave.cloud/superpod",
          "backend.coreweave.cloud/fabric"}},
        {"CoreWeave InfiniBand",
         {"ib.coreweave.cloud/leafgroup", "ib.coreweave.cloud/superpod",
          "ib.coreweave.cloud/fabric"}},
        {"muster's node agent", {"muster.dev/fabric.leaf"}},
    };
    for (int tier = 0; tier < kTiers; ++tier) {
      (*sources)[0].keys.push_back(absl::StrCat("fabric.topograph.run/tier-", tier));
    }
    return sources;
  }();
  return *kSources;
}

// CoreWeave numbers leaf groups and superpods within the fabric: a number alone names nothing.
bool NamesAreNumbers(const FabricSource& source) {
  return std::strncmp(source.name, "CoreWeave", 9) == 0;
}

int CountOf(const LabelMap& labels, const FabricSource& source) {
  return static_cast<int>(
      std::count_if(source.keys.begin(), source.keys.end(),
                    [&](const auto& key) { return !labels.Value(key).empty(); }));
}

// Returns the source with most labels, the first among equals. Both old topographs have "spine".
const FabricSource* SourceFor(const LabelMap& labels) {
  const FabricSource* best = nullptr;
  int most = 0;
  for (const FabricSource& source : FabricSources()) {
    const int count = CountOf(labels, source);
    if (count <= most) continue;
    best = &source;
    most = count;
  }
  return best;
}

bool IsTopograph(const FabricSource& source) {
  return std::strncmp(source.name, "topograph", 9) == 0;
}

// Reports labels that differ between versions of topograph, which should name the same switches.
void CompareVersions(const LabelledNode& node, const FabricSource& taken, const Position& position,
                     std::vector<TopologyFinding>& findings) {
  for (const FabricSource& source : FabricSources()) {
    if (&source == &taken || !IsTopograph(source) || !IsTopograph(taken)) continue;
    const size_t tiers = std::min(source.keys.size(), taken.keys.size());
    for (size_t tier = 0; tier < tiers; ++tier) {
      const std::string value(node.labels.Value(source.keys[tier]));
      const std::string& counts = position.tiers[tier];
      if (value.empty() || counts.empty() || value == counts) continue;
      findings.push_back(
          {node.name, absl::StrCat(source.keys[tier], " is ", value, ", but ", taken.keys[tier],
                                   " is ", counts, "; the latter counts")});
    }
  }
}

// AWS counts layers from the top. If some instance types have four layers and others three, the
// lowest switch of the latter stands for the missing leaf, so that the upper layers match.
void ReadAws(const LabelMap& labels, int layers, Position& position) {
  std::string_view lowest;
  for (int layer = 1; layer <= layers; ++layer) {
    const std::string_view given =
        labels.Value(absl::StrCat("topology.k8s.aws/network-node-layer-", layer));
    if (!given.empty()) lowest = given;
    const bool below = given.empty() && layer > 3;
    position.tiers[layers - layer] = below ? lowest : given;
  }
}

void ReadFabric(const LabelledNode& node, int aws_layers, Position& position,
                std::vector<TopologyFinding>& findings) {
  const LabelMap& labels = node.labels;
  const FabricSource* source = SourceFor(labels);
  if (source == nullptr) {
    if (aws_layers > 0) ReadAws(labels, aws_layers, position);
    return;
  }
  for (size_t tier = 0; tier < source->keys.size(); ++tier) {
    position.tiers[tier] = labels.Value(source->keys[tier]);
  }
  CompareVersions(node, *source, position, findings);
  if (!NamesAreNumbers(*source)) return;
  for (int tier = 1; tier >= 0; --tier) {
    std::string& name = position.tiers[tier];
    const std::string& above = position.tiers[tier + 1];
    if (!name.empty() && !above.empty()) name = absl::StrCat(above, ".", name);
  }
}

constexpr char kClique[] = "nvidia.com/gpu.clique";
constexpr char kOwnClique[] = "muster.dev/nvlink.clique";  // as muster's node agent finds it
constexpr char kAccelerator[] = "network.topology.nvidia.com/accelerator";
// Labels whose value is the NVLink domain, the one that counts first.
constexpr std::array<std::string_view, 3> kNvlinkDomains = {"ds.coreweave.com/nvlink.domain",
                                                            "topology.k8s.aws/ultraserver-id",
                                                            "topology.k8s.aws/capacity-block-id"};

// All zeros in a clique: the GPUs have no NVLink beyond the host.
bool IsNoDomain(std::string_view value) {
  return value.substr(0, value.find('.')).find_first_not_of("0-") == std::string::npos;
}

// Reads "<cluster UUID>.<clique>": the UUID is that of the NVLink domain (a rack), the whole is the
// partition in which GPUs can communicate.
void ReadClique(std::string_view value, Position& position) {
  if (IsNoDomain(value)) return;
  const size_t dot = value.find('.');
  position.nvlink = value.substr(0, dot);
  if (dot != std::string::npos) position.partition = value;
}

void ReadNvlink(const LabelMap& labels, Position& position) {
  ReadClique(labels.Value(kClique), position);
  if (!position.nvlink.empty()) return;
  const std::string domain(labels.Value("accelerator.topograph.run/domain"));
  if (!domain.empty()) {
    position.nvlink = domain;
    const std::string partition(labels.Value("accelerator.topograph.run/sub-domain"));
    if (!partition.empty()) position.partition = absl::StrCat(domain, ".", partition);
    return;
  }
  ReadClique(labels.Value(kAccelerator), position);
  for (const std::string_view key : kNvlinkDomains) {
    if (position.nvlink.empty()) position.nvlink = labels.Value(key);
  }
  if (position.nvlink.empty()) ReadClique(labels.Value(kOwnClique), position);
}

Position ReadPosition(const LabelledNode& node, int aws_layers,
                      std::vector<TopologyFinding>& findings) {
  const LabelMap& labels = node.labels;
  Position position;
  position.region = labels.Value("topology.kubernetes.io/region");
  position.zone = labels.Value("topology.kubernetes.io/zone");
  if (position.zone.empty()) position.zone = labels.Value("topology.k8s.aws/zone-id");
  ReadFabric(node, aws_layers, position, findings);
  ReadNvlink(labels, position);
  position.host = labels.Value("cloud.google.com/gce-topology-host");
  return position;
}

std::string TierName(int tier) {
  constexpr const char* kNames[] = {"leaf", "spine", "core"};
  return tier < 3 ? kNames[tier] : absl::StrCat("tier-", tier);
}

std::vector<std::string> LevelNames() {
  std::vector<std::string> names = {"region", "zone"};
  for (int tier = kTiers - 1; tier >= 0; --tier) names.push_back(TierName(tier));
  names.insert(names.end(), {"nvlink", "nvlink-partition", "host"});
  return names;
}

std::vector<std::string> PathOf(Position position) {
  std::vector<std::string> path = {std::move(position.region), std::move(position.zone)};
  for (int tier = kTiers - 1; tier >= 0; --tier) path.push_back(std::move(position.tiers[tier]));
  path.push_back(std::move(position.nvlink));
  path.push_back(std::move(position.partition));
  path.push_back(std::move(position.host));
  return path;
}

void DropLevel(Topology& topology, size_t level) {
  topology.levels.erase(topology.levels.begin() + level);
  for (auto& path : topology.paths) path.erase(path.begin() + level);
}

void DropUnusedLevels(Topology& topology) {
  for (size_t level = topology.levels.size(); level-- > 0;) {
    const bool used = std::any_of(topology.paths.begin(), topology.paths.end(),
                                  [&](const auto& path) { return !path[level].empty(); });
    if (!used) DropLevel(topology, level);
  }
}

// Partitions matter only if some domain has more than one.
void DropPartitionsThatAreDomains(Topology& topology) {
  const auto found = std::find(topology.levels.begin(), topology.levels.end(), "nvlink-partition");
  if (found == topology.levels.end()) return;
  const size_t level = found - topology.levels.begin();
  std::map<std::string, std::string> partition_of;
  for (const auto& path : topology.paths) {
    if (path[level].empty()) continue;
    const auto [known, added] = partition_of.emplace(path[level - 1], path[level]);
    if (!added && known->second != path[level]) return;
  }
  DropLevel(topology, level);
}

// The domains of a broader level that a domain's nodes name, with the number of nodes for each.
using Votes = std::map<std::string, int>;

std::string Winner(const Votes& votes) {
  std::string winner;
  int most = 0;
  for (const auto& [name, count] : votes) {
    if (count > most) {
      winner = name;
      most = count;
    }
  }
  return winner;
}

bool IsNvlink(const std::string& level) {
  const std::string known = LevelOfLabel(level);
  return level.rfind("nvlink", 0) == 0 || known.rfind("nvlink", 0) == 0;
}

// Returns true if every domain of `inner` lies within one of `outer`.
bool LiesWithin(const Topology& topology, size_t inner, size_t outer) {
  std::map<std::string, const std::string*> place;
  for (const auto& path : topology.paths) {
    if (path[inner].empty() || path[outer].empty()) continue;
    const auto [known, is_new] = place.emplace(path[inner], &path[outer]);
    if (!is_new && *known->second != path[outer]) return false;
  }
  return true;
}

void SwapLevels(Topology& topology, size_t a, size_t b) {
  std::swap(topology.levels[a], topology.levels[b]);
  for (auto& path : topology.paths) std::swap(path[a], path[b]);
}

// Orders NVLink levels by the nodes. An NVLink domain may be narrower than a leaf (a rack of a leaf
// group) or broader (a rack with a switch for each half), and no label says which. Moves each of
// the levels `nvlink` (indices into topology.levels, rising) above its neighbours whose domains
// each lie within one of its own, and below those that hold each of its own within one domain. If
// neither nests in the other, or both do, the order stays. Nodes without a domain at one of the two
// levels do not count, and the levels of `nvlink` keep their order among themselves.
void OrderLevels(std::vector<size_t> nvlink, Topology& topology) {
  const auto narrower = [&](size_t a, size_t b) {
    return LiesWithin(topology, a, b) && !LiesWithin(topology, b, a);
  };
  size_t end = topology.levels.size();
  for (auto level = nvlink.rbegin(); level != nvlink.rend(); ++level) {
    for (; *level + 1 < end && narrower(*level, *level + 1); ++*level) {
      SwapLevels(topology, *level, *level + 1);
    }
    end = *level;
  }
  size_t begin = 0;
  for (size_t& level : nvlink) {
    for (; level > begin && narrower(level - 1, level); --level)
      SwapLevels(topology, level - 1, level);
    begin = level + 1;
  }
}

// NVLink domains have unique identifiers, so the nodes can order their levels.
void OrderByNodes(Topology& topology) {
  std::vector<size_t> nvlink;
  for (size_t i = 0; i < topology.levels.size(); ++i) {
    if (IsNvlink(topology.levels[i])) nvlink.push_back(i);
  }
  OrderLevels(std::move(nvlink), topology);
}

// Makes each domain of `level` lie within one domain of the broader level `above`. `reported`:
// nodes that need no further finding.
void Nest(const std::vector<LabelledNode>& nodes, size_t level, size_t above, Topology& topology,
          std::vector<bool>& reported) {
  std::map<std::string, Votes> votes;
  for (const auto& path : topology.paths) {
    if (!path[level].empty() && !path[above].empty()) ++votes[path[level]][path[above]];
  }
  std::map<std::string, std::string> place;
  for (const auto& [domain, of] : votes) place[domain] = Winner(of);
  for (size_t i = 0; i < nodes.size(); ++i) {
    auto& path = topology.paths[i];
    const auto found = place.find(path[level]);
    if (path[level].empty() || found == place.end() || path[above] == found->second) continue;
    if (path[above].empty()) {
      // All nodes below a switch share it; an NVLink domain need not hold all of them.
      if (!IsNvlink(topology.levels[above]) || IsNvlink(topology.levels[level])) {
        path[above] = found->second;
      }
      continue;
    }
    if (reported[i]) continue;
    reported[i] = true;
    topology.findings.push_back(
        {nodes[i].name, absl::StrCat(topology.levels[level], " ", path[level], " lies in ",
                                     topology.levels[above], " ", path[above], " here, but in ",
                                     found->second, " according to most of its nodes")});
  }
}

// A node without NVLink lacks no label.
void FindMissing(const std::string& node, const std::vector<std::string>& path,
                 Topology& topology) {
  size_t known = path.size();
  while (known > 0 && path[known - 1].empty()) --known;
  for (size_t i = 0; i < known; ++i) {
    if (!path[i].empty() || IsNvlink(topology.levels[i])) continue;
    topology.findings.push_back(
        {node, absl::StrCat("has no label ", topology.levels[i], ", but one of the narrower level ",
                            topology.levels[known - 1])});
  }
}

}  // namespace

std::string LevelOfLabel(const std::string& key) {
  static const std::map<std::string, std::string>* const kOthers =
      new std::map<std::string, std::string>{
          {"topology.kubernetes.io/region", "region"},
          {"topology.kubernetes.io/zone", "zone"},
          {"topology.k8s.aws/zone-id", "zone"},
          {"topology.k8s.aws/network-node-layer-1", "core"},
          {"topology.k8s.aws/network-node-layer-2", "spine"},
          {"topology.k8s.aws/network-node-layer-3", "leaf"},
          {"topology.k8s.aws/network-node-layer-4", "leaf"},
          {kClique, "nvlink"},
          {kOwnClique, "nvlink"},
          {"accelerator.topograph.run/domain", "nvlink"},
          {"accelerator.topograph.run/sub-domain", "nvlink-partition"},
          {kAccelerator, "nvlink"},
          {"cloud.google.com/gce-topology-host", "host"},
          {"oci.oraclecloud.com/rdma.host_id", "host"},
          {"kubernetes.io/hostname", "host"},
      };
  if (const auto found = kOthers->find(key); found != kOthers->end()) return found->second;
  const bool nvlink =
      std::find(kNvlinkDomains.begin(), kNvlinkDomains.end(), key) != kNvlinkDomains.end();
  if (nvlink) return "nvlink";
  for (const FabricSource& source : FabricSources()) {
    const auto found = std::find(source.keys.begin(), source.keys.end(), key);
    if (found != source.keys.end()) return TierName(static_cast<int>(found - source.keys.begin()));
  }
  return "";
}

Topology ReadTopology(const std::vector<LabelledNode>& nodes) {
  int aws_layers = 0;
  for (const LabelledNode& node : nodes) {
    for (int layer = 3; layer <= 4; ++layer) {
      const std::string key = absl::StrCat("topology.k8s.aws/network-node-layer-", layer);
      if (!node.labels.Value(key).empty()) aws_layers = std::max(aws_layers, layer);
    }
  }
  Topology topology;
  topology.levels = LevelNames();
  for (const LabelledNode& node : nodes) {
    topology.paths.push_back(PathOf(ReadPosition(node, aws_layers, topology.findings)));
  }
  DropUnusedLevels(topology);
  DropPartitionsThatAreDomains(topology);
  OrderByNodes(topology);
  // Narrow domains come first, each against all broader levels outwards: a level that is filled in
  // helps to fill in the next.
  std::vector<bool> reported(nodes.size());
  for (size_t level = topology.levels.size(); level-- > 1;) {
    for (size_t above = level; above-- > 0;) Nest(nodes, level, above, topology, reported);
  }
  return topology;
}

Topology ReadTopology(const std::vector<LabelledNode>& nodes,
                      const std::vector<std::string>& keys) {
  Topology topology;
  topology.levels = keys;
  for (const LabelledNode& node : nodes) {
    std::vector<std::string>& path = topology.paths.emplace_back();
    for (const std::string& key : keys) {
      const std::string_view value = node.labels.Value(key);
      const bool clique = key == kClique || key == kAccelerator;
      path.emplace_back(clique && IsNoDomain(value) ? "" : value);
    }
  }
  OrderByNodes(topology);
  for (size_t i = 0; i < nodes.size(); ++i) FindMissing(nodes[i].name, topology.paths[i], topology);
  return topology;
}

}  // namespace muster::control
