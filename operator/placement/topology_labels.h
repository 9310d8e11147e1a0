#ifndef MUSTER_OPERATOR_PLACEMENT_TOPOLOGY_LABELS_H_
#define MUSTER_OPERATOR_PLACEMENT_TOPOLOGY_LABELS_H_

#include <string>
#include <vector>

#include "operator/placement/label_map.h"

// Where nodes stand in the network, from the labels that clouds and tools put on them: AWS, Google,
// OCI, CoreWeave, topograph 1.0, 0.5 and 0.1, NVIDIA's GPU feature discovery, plain Kubernetes.
// Whatever direction a source counts in, the answer runs from broad to narrow: region, zone,
// tier-N ... tier-3, core, spine, leaf, nvlink, nvlink-partition, host; levels that no node has
// are left out. The levels of NVLink stand elsewhere where the nodes say so: above those whose
// domains each lie within one of theirs. "host" is a machine that holds several nodes.
namespace muster::control {

struct LabelledNode {
  std::string name;
  LabelMap labels;
};

// Labels of one node that cannot all be true, or from which something is missing.
struct TopologyFinding {
  std::string node;
  std::string sentence;

  friend bool operator==(const TopologyFinding&, const TopologyFinding&) = default;
};

struct Topology {
  std::vector<std::string> levels;  // broad to narrow; Inventory::levels
  // By node, in the order given; one name for each level, empty where the node is nowhere:
  // NodeInventory::domains.
  std::vector<std::vector<std::string>> paths;
  std::vector<TopologyFinding> findings;
};

// The levels are found in the labels. A domain whose identifier is unique (a switch, a rack, a
// zone) lies where most of its nodes say: nodes that are silent about a level are placed by that,
// those that say otherwise are reported and stand apart, so that a wrong label costs closeness and
// never claims it.
Topology ReadTopology(const std::vector<LabelledNode>& nodes);

// The levels are given as label keys, broad to narrow, as in spec.levels[].nodeLabel of a Kueue
// Topology, and are named by these keys; keys of NVLink may move as above. A domain is known by its
// value and all broader ones.
Topology ReadTopology(const std::vector<LabelledNode>& nodes, const std::vector<std::string>& keys);

// The level, of those above, that a label key stands for ("leaf" for
// "cloud.google.com/gce-topology-subblock"); empty for a key of no known source.
std::string LevelOfLabel(const std::string& key);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_TOPOLOGY_LABELS_H_
