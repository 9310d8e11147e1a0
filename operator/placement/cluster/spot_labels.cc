#include "operator/placement/cluster/spot_labels.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace muster::control {
namespace {

struct SpotLabel {
  std::string_view key;
  std::string_view value;
};

constexpr SpotLabel kSpotLabels[] = {
    {"karpenter.sh/capacity-type", "spot"},
    {"eks.amazonaws.com/capacityType", "SPOT"},
    {"cloud.google.com/gke-spot", "true"},
    {"cloud.google.com/gke-preemptible", "true"},
    {"kubernetes.azure.com/scalesetpriority", "spot"},
};

std::string_view ValueOf(const LabelMap& labels, std::string_view key) {
  const auto found = labels.find(key);
  return found == labels.end() ? std::string_view() : found->second;
}

}  // namespace

bool AvoidsSpot(const LabelMap& pod_labels) {
  return ValueOf(pod_labels, kSpotLabel) == kSpotAvoided;
}

bool IsSpotNode(const LabelMap& labels) {
  const std::string_view own = ValueOf(labels, kCapacityTypeLabel);
  if (own == kCapacityTypeSpot) return true;
  if (own == kCapacityTypeOnDemand) return false;
  return std::any_of(
      std::begin(kSpotLabels), std::end(kSpotLabels),
      [&labels](const SpotLabel& one) { return ValueOf(labels, one.key) == one.value; });
}

std::string SpotPoolOf(const LabelMap& labels) {
  std::string pool(ValueOf(labels, "node.kubernetes.io/instance-type"));
  pool += ' ';
  pool += ValueOf(labels, "topology.kubernetes.io/zone");
  return pool;
}

}  // namespace muster::control
