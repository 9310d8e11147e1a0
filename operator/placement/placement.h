#ifndef MUSTER_OPERATOR_PLACEMENT_PLACEMENT_H_
#define MUSTER_OPERATOR_PLACEMENT_PLACEMENT_H_

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "operator/placement/inventory.h"
#include "operator/placement/ring_model.h"
#include "operator/placement/spot_bounds.h"
#include "operator/placement/topology_tree.h"

// Gang placement: assigns a node to each worker of a gang, to all of them or none. Pure and
// deterministic: equal arguments give an equal answer, whatever the order of the inventory.
namespace muster::control {

// Workers that must share one domain of a level: a tensor-parallel group on a host, a pipeline in
// an NVLink domain.
struct Slice {
  int size = 1;
  std::string level;
};

struct GangRequest {
  std::string job;
  Resources per_worker;
  // The best size in min..max is taken; 1 <= min <= max.
  int min = 1;
  int max = 1;
  // A level of the inventory, or "host", or empty. Required: all workers share one domain of it.
  // Preferred: they share one if that costs no worker, otherwise the narrowest domain that holds
  // them. Without a preference that rule starts at the single node.
  std::string required_level;
  std::string preferred_level;
  // Outermost first: each size is a multiple of the next, and no level is broader than the one
  // before. Workers i * size .. (i + 1) * size - 1 are a slice; the gang is made of whole ones.
  std::vector<Slice> slices;
  SpotBounds spot;
  // The most workers that may be on spot nodes, by gang size from 0 to max, in place of `spot`. For
  // workers that join others. Empty: `spot` decides.
  std::vector<int> most_on_spot;
};

struct Placement {
  // Worker i runs on nodes[i]. In the order of the topology: neighbours in the ring are neighbours
  // in the fabric, and workers of a node follow each other. With bounds on spot nodes, workers on
  // spot nodes come last: slices with fewer of them before slices with more, and last within a
  // slice.
  std::vector<std::string> nodes;
  // The innermost level at which all workers share a domain, and that domain's path, or empty.
  std::string level;
  std::string domain;
  // Predicted time of the slowest ring on an empty cluster, divided by that on these nodes: (0, 1].
  double score = 1;
  double ring_seconds = 0;
};

enum class UnplaceableReason {
  kInvalidRequest,   // min > max, a negative amount, an unknown level, a size no slice divides
  kNoNodeBigEnough,  // not one worker fits on any schedulable node as it is now
  kInsufficient,     // some workers fit, fewer than min
  kTopology,         // min would fit, but not within one domain of the required level
  kSpotLimit,        // min would fit so, but with too many workers on spot nodes
};
inline constexpr int kUnplaceableReasons = 5;
absl::string_view Name(UnplaceableReason reason);

struct Unplaceable {
  UnplaceableReason reason = UnplaceableReason::kInsufficient;
  std::string sentence;
  // The largest size that would fit now under the same rules; 0: none.
  int nearest_feasible_size = 0;
};

// Places the gang. `links` replaces the default links of levels, by level name, in the score.
std::variant<Placement, Unplaceable> Place(const TopologyTree& tree, const GangRequest& request,
                                           const std::map<std::string, Link>& links = {});
// Scores a gang whose worker i is on nodes[i] as Place would, whether or not Place would choose
// these nodes; the gang's sizes do not count. Leaves out empty names, and nodes that the tree does
// not have.
Placement ScorePlacement(const TopologyTree& tree, const GangRequest& request,
                         const std::vector<std::string>& nodes,
                         const std::map<std::string, Link>& links = {});
// The same on a tree built from the inventory.
std::variant<Placement, Unplaceable> Place(const Inventory& inventory, const GangRequest& request);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_PLACEMENT_H_
