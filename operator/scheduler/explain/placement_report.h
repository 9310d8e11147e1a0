#ifndef MUSTER_OPERATOR_SCHEDULER_EXPLAIN_PLACEMENT_REPORT_H_
#define MUSTER_OPERATOR_SCHEDULER_EXPLAIN_PLACEMENT_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/state/view.h"
#include "operator/objects/caches.h"
#include "operator/placement/complete_gang.h"
#include "operator/placement/filter/refusal.h"
#include "operator/queue/forecast/forecast.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/cluster/node_health.h"

// Reports for people about a gang and its cluster, from the same code that decides. Not
// thread-safe, like the model, which a report leaves unchanged.
namespace muster::control {

struct WorkerPlace {
  int index = 0;
  std::string pod;   // empty: it has none yet
  std::string node;  // empty: none
  std::string path;  // of the node, from the broadest level down
};

// The size that would fit now if one constraint were changed.
struct Relaxation {
  std::string change;
  int workers = 0;  // the largest gang that fits then
};

struct GangReport {
  PlacementView verdict;  // the cycle's last one
  GangRequest request;
  std::vector<WorkerPlace> workers;
  int nodes = 0;         // all nodes of the cluster
  std::string left_out;  // counts of nodes that the gang cannot use, by reason
  int fits = 0;          // workers of a waiting gang that fit now, without a change
  std::vector<Relaxation> relaxations;
  uint64_t decision = 0;               // id for `muster replay`; 0: not kept
  std::optional<StartForecast> start;  // absent unless the job waits for its turn
  absl::Time now = absl::UnixEpoch();  // when it was asked
  std::string warning;                 // a fault of the job that does not keep it from starting
};

// Reports on a gang with pods, or on a hypothetical one.
GangReport ReportGang(ClusterModel& model, const PartialGang& gang, const PodRecord& pod);

// A domain of the tree with all below it, down to a level.
struct DomainReport {
  std::string level;  // empty: the cluster
  std::string name;
  int nodes = 0;
  int usable = 0;  // ready, not cordoned, not about to go, not faulty
  // Number of unusable nodes by the first reason that closes them.
  std::map<FilterReason, int> closed;
  std::vector<NodeUnavailability> troubles;  // only set for a host
  Resources allocatable;
  Resources free;
  std::vector<DomainReport> children;
};

// Reports at most `depth` levels below the cluster.
DomainReport ReportTree(ClusterModel& model, int depth);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_EXPLAIN_PLACEMENT_REPORT_H_
