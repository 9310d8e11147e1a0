#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_SPOT_LABELS_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_SPOT_LABELS_H_

#include <string>

#include "operator/placement/label_map.h"

// Tells by a node's labels whether its cloud may take it back at short notice. docs/placement.md
// lists the labels.
namespace muster::control {

// Says which of the two kinds a node is, whatever its cloud's labels say.
inline constexpr char kCapacityTypeLabel[] = "muster.dev/capacity-type";
inline constexpr char kCapacityTypeSpot[] = "spot";
inline constexpr char kCapacityTypeOnDemand[] = "on-demand";

// The label of the pods of a job that allows no spot nodes.
inline constexpr char kSpotLabel[] = "muster.dev/spot";
inline constexpr char kSpotAvoided[] = "avoid";

// Returns true for the labels of a pod that may not be on a spot node.
bool AvoidsSpot(const LabelMap& pod_labels);

// Returns true for a spot node. The label kCapacityTypeLabel decides if it has one of its two
// values; otherwise one label of a cloud or of an autoscaler is enough.
bool IsSpotNode(const LabelMap& labels);

// Returns the spot pool of a node, "INSTANCE-TYPE ZONE": a cloud takes back the machines of one
// type in one zone together. Nodes that lack a label share the empty type or zone.
std::string SpotPoolOf(const LabelMap& labels);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_SPOT_LABELS_H_
