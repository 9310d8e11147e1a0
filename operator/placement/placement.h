#ifndef MUSTER_OPERATOR_PLACEMENT_PLACEMENT_H_
#define MUSTER_OPERATOR_PLACEMENT_PLACEMENT_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

// Gang placement: which node each worker of a gang runs on, all of them or none. Pure and
// deterministic: equal arguments give an equal answer, whatever the order of the inventory.
namespace muster::control {

// What a worker asks of a node, and what a node has. Every component is >= 0.
struct Resources {
  int64_t gpus = 0;
  int64_t cpu_millis = 0;
  int64_t memory_bytes = 0;
  int64_t slots = 0;  // pods

  friend bool operator==(const Resources&, const Resources&) = default;
};

struct NodeInventory {
  std::string name;
  // What is left, after every pod on the node, whoever made it, terminating ones included.
  Resources free;
  bool schedulable = true;
  // The node's place in the topology, outermost level first, e.g. {"dc1", "spine3", "leaf7"}; the
  // levels' names are Inventory::levels. May be shorter: the node is then nowhere below.
  std::vector<std::string> domains;
};

struct Inventory {
  std::vector<std::string> levels;  // outermost first, e.g. {"datacenter", "spine", "leaf"}
  std::vector<NodeInventory> nodes;
};

struct GangRequest {
  std::string job;
  Resources per_worker;
  // The best size in min..max is taken; 1 <= min <= max.
  int min = 1;
  int max = 1;
  // A level of Inventory::levels, or empty: all workers must, or should, share one domain of it.
  std::string required_level;
  std::string preferred_level;
  // Workers come in slices of this many, each within one domain of slice_level; a size is then a
  // multiple of it. 1: no slices.
  int slice_size = 1;
  std::string slice_level;
};

struct Placement {
  // nodes[i] is worker i's; consecutive workers share a node, so that ranks are in node order.
  std::vector<std::string> nodes;
  // The domain that all share at the innermost level they do; empty: none.
  std::string domain;
};

enum class UnplaceableReason {
  kInvalidRequest,   // min > max, a negative amount, an unknown level, a size no slice divides
  kNoNodeBigEnough,  // not one worker fits on any schedulable node as it is now
  kInsufficient,     // some workers fit, fewer than min
  kTopology,         // min would fit, but not within one domain of the required level
};
absl::string_view UnplaceableReasonName(UnplaceableReason reason);

struct Unplaceable {
  UnplaceableReason reason = UnplaceableReason::kInsufficient;
  std::string sentence;
  // The largest size that would fit now under the same rules; 0: none.
  int nearest_feasible_size = 0;
};

std::variant<Placement, Unplaceable> Place(const Inventory& inventory, const GangRequest& request);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_PLACEMENT_H_
