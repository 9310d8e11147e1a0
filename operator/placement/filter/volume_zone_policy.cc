#include "operator/placement/filter/volume_zone_policy.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace muster::control {
namespace {

constexpr char kZone[] = "topology.kubernetes.io/zone";
constexpr char kRegion[] = "topology.kubernetes.io/region";
constexpr char kOldZone[] = "failure-domain.beta.kubernetes.io/zone";
constexpr char kOldRegion[] = "failure-domain.beta.kubernetes.io/region";
constexpr std::array<const char*, 4> kLabels = {kOldZone, kOldRegion, kZone, kRegion};

NodeRefusal Refuse(const std::string& sentence) { return {FilterReason::kVolumeZone, sentence}; }

// Splits "a__b" into its zones. With an empty one the label means nothing.
std::set<std::string, std::less<>> SplitZones(std::string_view text) {
  constexpr std::string_view kDelimiter = "__";
  std::set<std::string, std::less<>> zones;
  while (true) {
    const size_t end = text.find(kDelimiter);
    std::string_view zone = text.substr(0, end);
    while (!zone.empty() && zone.front() == ' ') zone.remove_prefix(1);
    while (!zone.empty() && zone.back() == ' ') zone.remove_suffix(1);
    if (zone.empty()) return {};
    zones.emplace(zone);
    if (end == text.npos) return zones;
    text.remove_prefix(end + kDelimiter.size());
  }
}

}  // namespace

VolumeZonePolicy::VolumeZonePolicy(const SchedulingPod& pod, const ClusterSnapshot& snapshot)
    : of_node_alone_(pod.wants().claims.empty()) {
  for (const PodClaim& wanted : pod.wants().claims) {
    if (wanted.ephemeral) continue;
    const VolumeClaim* claim = snapshot.FindClaim(pod.ns, wanted.name);
    if (claim == nullptr) {
      refusal_ = Refuse("claim " + wanted.name + " does not exist");
    } else if (claim->volume.empty()) {
      refusal_ = CheckUnbound(*claim, snapshot);
    } else if (const Volume* volume = snapshot.FindVolume(claim->volume)) {
      Add(*volume);
    } else {
      refusal_ = Refuse("volume " + claim->volume + " does not exist");
    }
    if (refusal_) return;
  }
}

std::optional<NodeRefusal> VolumeZonePolicy::CheckUnbound(const VolumeClaim& claim,
                                                          const ClusterSnapshot& snapshot) const {
  const StorageClass* storage_class =
      claim.storage_class.empty() ? nullptr : snapshot.FindStorageClass(claim.storage_class);
  if (storage_class != nullptr && storage_class->binding == BindingMode::kWaitForFirstConsumer) {
    return std::nullopt;
  }
  return Refuse("claim " + claim.name + " is not bound");
}

void VolumeZonePolicy::Add(const Volume& volume) {
  for (const char* key : kLabels) {
    const auto label = volume.labels.find(key);
    if (label == volume.labels.end()) continue;
    std::set<std::string, std::less<>> zones = SplitZones(label->second);
    if (!zones.empty()) zones_.push_back({key, std::move(zones)});
  }
}

std::optional<NodeRefusal> VolumeZonePolicy::Check(const NodeState& node) const {
  if (refusal_) return refusal_;
  const LabelMap& labels = node.node->labels;
  const bool has_zone = std::any_of(kLabels.begin(), kLabels.end(),
                                    [&](const char* key) { return labels.count(key) > 0; });
  // A node without zone labels is taken to be in a cluster of one zone.
  if (!has_zone) return std::nullopt;
  for (const Zones& zones : zones_) {
    auto label = labels.find(zones.key);
    if (label == labels.end() && zones.key == kOldZone) label = labels.find(kZone);
    if (label == labels.end() && zones.key == kOldRegion) label = labels.find(kRegion);
    if (label == labels.end() || !zones.values.contains(label->second)) {
      return Refuse("its volumes are in " + *zones.values.begin());
    }
  }
  return std::nullopt;
}

}  // namespace muster::control
