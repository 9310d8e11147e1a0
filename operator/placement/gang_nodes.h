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

// Nodes that are not for every gang: selectors, taints, affinity, volumes. Place and what is built
// on it know none of these; they are told which nodes of the tree a gang's pods may go to.
namespace muster::control {

// What one gang's pods may use of a tree, beyond what is free and schedulable. Valid for the tree
// it was made of, as long as that keeps its shape.
struct GangNodes {
  // Nodes that are not for it, rising.
  std::vector<int> closed;
  // Nodes that take at most so many of its workers, whatever is free; rising by node.
  struct Bound {
    int node = 0;
    int64_t workers = 0;
  };
  std::vector<Bound> bounds;
  // For people: nodes left out, by why. Empty: none.
  std::string left_out;
  // Its pods look at others, its own among them, beyond a node: which nodes they may have together
  // only GangGate::PlacesFor knows.
  bool social = false;
};

// Null: all nodes are for it, whoever else is there.
inline bool IsSocial(const GangNodes* nodes) { return nodes != nullptr && nodes->social; }

// A gang without nodes, in a cluster that is not quite the one that the gate knows.
struct GangQuestion {
  std::string job;  // UID
  GangRequest request;
  // Jobs of which only the first so many workers have not gone.
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
  std::vector<std::string> nodes;  // worker i's; empty: it has no places
  // Why not: of UnplaceableReasonName, or another; and a sentence.
  std::string reason;
  std::string sentence;
};

// Whoever knows the pods says it. Asked for each job that is looked at; gangs that get the same
// object have the same nodes, so what was refused to one is refused to the other.
class GangGate {
 public:
  virtual ~GangGate() = default;
  // Of a job with that UID, whose pods have no node yet. Null: all nodes are for it.
  virtual std::shared_ptr<const GangNodes> NodesFor(const std::string& job_uid) = 0;
  // Places for a social gang that hold by every rule. Nothing: it is not known, room decides.
  virtual std::optional<GangAnswer> PlacesFor(const GangQuestion& question) {
    static_cast<void>(question);
    return std::nullopt;
  }
};

// Takes what is not for a gang out of a tree, and puts it back. Nothing else may change the tree
// in between. O(depth) for each node that is closed or bound.
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
