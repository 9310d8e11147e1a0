#ifndef MUSTER_OPERATOR_PLACEMENT_GANG_NODES_H_
#define MUSTER_OPERATOR_PLACEMENT_GANG_NODES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/placement/inventory.h"
#include "operator/placement/placement.h"
#include "operator/placement/topology_tree.h"

// Restricts the nodes of single gangs, by selectors, taints, affinity or volumes. Place and the
// code built on it see none of these rules; they are given the nodes of the tree that a gang's pods
// may use.
namespace muster::control {

// The nodes that one gang's pods may use, beyond what is free and schedulable. Valid for the tree
// that it was made for, as long as that keeps its shape.
struct GangNodes {
  // Nodes that the gang may not use, rising.
  std::vector<int> closed;
  // Nodes that take at most this many of its workers, whatever is free; rising by node.
  struct Bound {
    int node = 0;
    int64_t workers = 0;
  };
  std::vector<Bound> bounds;
  // The nodes that are left out, by reason, for people. Empty: none.
  std::string left_out;
  // True if rules of its pods look at other pods, its own among them, beyond a node. Only
  // GangGate::PlacesFor can then tell which nodes they may have together.
  bool inter_pod_constraints = false;
};

// Null stands for all nodes, whatever other pods are there.
inline bool HasInterPodConstraints(const GangNodes* nodes) {
  return nodes != nullptr && nodes->inter_pod_constraints;
}

// Asks for nodes for a gang in a cluster that differs a little from the gate's.
struct GangQuestion {
  std::string job;  // UID
  GangRequest request;
  // Jobs that keep only their first `stay` workers.
  struct Leaver {
    std::string job;
    int stay = 0;
  };
  std::vector<Leaver> leavers;
  // Jobs that have started since: worker i is on nodes[i].
  struct Starter {
    std::string job;
    std::vector<std::string> nodes;
  };
  std::vector<Starter> starters;
};

struct GangAnswer {
  std::vector<std::string> nodes;  // by worker; empty: it has no places
  // The reason, one of Name or another, and a sentence, if there are no places.
  std::string reason;
  std::string sentence;
};

// Answers, from the pods, which nodes a gang may use. Called for each job that is considered; gangs
// that get the same object have the same nodes, so that Place's refusal of one holds for the other.
class GangGate {
 public:
  virtual ~GangGate() = default;
  // The nodes of a job with that UID, whose pods have no node yet. Null: all nodes.
  virtual std::shared_ptr<const GangNodes> NodesFor(const std::string& job_uid) = 0;
  // Places that satisfy every rule, for a gang with inter-pod constraints. Nothing: the gate does
  // not know, and room alone decides.
  virtual std::optional<GangAnswer> PlacesFor(const GangQuestion& question) {
    static_cast<void>(question);
    return std::nullopt;
  }
};

// Takes the nodes that are not for a gang out of a tree, and puts them back. Nothing else may
// change the tree in between. O(depth) for each node that is closed or bound.
class GatedTree {
 public:
  // `nodes` may be null; else it must outlive this.
  GatedTree(TopologyTree& tree, const GangNodes* nodes, const Resources& per_worker);
  ~GatedTree() { Open(); }
  GatedTree(const GatedTree&) = delete;
  GatedTree& operator=(const GatedTree&) = delete;

  void Open();

 private:
  TopologyTree& tree_;
  std::vector<int> closed_;
  struct Charged {
    int node;
    int64_t slots;
  };
  std::vector<Charged> charged_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_GANG_NODES_H_
