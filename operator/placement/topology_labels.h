#ifndef MUSTER_OPERATOR_PLACEMENT_TOPOLOGY_LABELS_H_
#define MUSTER_OPERATOR_PLACEMENT_TOPOLOGY_LABELS_H_

#include <string>
#include <vector>

#include "operator/placement/label_map.h"

// The position of nodes in the network, from the labels that clouds and tools put on them: AWS,
// Google, OCI, CoreWeave, topograph 1.0, 0.5 and 0.1, NVIDIA's GPU feature discovery, plain
// Kubernetes. Whatever direction a source counts in, levels run from broad to narrow: region, zone,
// tier-N ... tier-3, core, spine, leaf, nvlink, nvlink-partition, host; levels that no node has are
// left out. NVLink levels move where the nodes show it: above those levels whose domains each lie
// within one of theirs. "host" is a machine that holds several nodes.
namespace muster::control {

struct LabelledNode {
  std::string name;
  LabelMap labels;
};

// Labels of one node that contradict each other, or among which one is missing.
struct TopologyFinding {
  std::string node;
  std::string sentence;

  friend bool operator==(const TopologyFinding&, const TopologyFinding&) = default;
};

struct Topology {
  std::vector<std::string> levels;  // broad to narrow; Inventory::levels
  // The domains of each node, in the order given; one name for each level, empty if the node is in
  // no domain of it: NodeInventory::domains.
  std::vector<std::vector<std::string>> paths;
  std::vector<TopologyFinding> findings;
};

// Finds the levels in the labels. A domain whose identifier is unique (a switch, a rack, a zone)
// lies where most of its nodes say. Nodes without a label for a level are placed by that; nodes
// with another label are reported and stand apart: a wrong label costs closeness and never grants
// it.
Topology ReadTopology(const std::vector<LabelledNode>& nodes);

// Takes the levels as label keys, broad to narrow, as in spec.levels[].nodeLabel of a Kueue
// Topology, and names them by these keys; NVLink keys may move as above. A domain is identified by
// its value and all broader ones.
Topology ReadTopology(const std::vector<LabelledNode>& nodes, const std::vector<std::string>& keys);

// Returns the level, of those above, that a label key stands for ("leaf" for
// "cloud.google.com/gce-topology-subblock"); empty for a key of no known source.
std::string LevelOfLabel(const std::string& key);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_TOPOLOGY_LABELS_H_
