#ifndef MUSTER_OPERATOR_SCHEDULER_EXPLAIN_PLACEMENT_REPORT_H_
#define MUSTER_OPERATOR_SCHEDULER_EXPLAIN_PLACEMENT_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/view.h"
#include "operator/objects/caches.h"
#include "operator/placement/complete_gang.h"
#include "operator/placement/filter/refusal.h"
#include "operator/queue/forecast/forecast.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/cluster/node_health.h"

// What people are told about a gang and about the cluster it is to run on: the answers of the same
// code that decides, asked once more. Not thread-safe, as the model; it is as before afterwards.
namespace muster::control {

struct WorkerPlace {
  int index = 0;
  std::string pod;   // empty: it has none yet
  std::string node;  // empty: none
  std::string path;  // of the node, from the broadest level down
};

// What fits now when one thing were otherwise.
struct Relaxation {
  std::string change;
  int workers = 0;  // the largest gang then
};

struct GangReport {
  PlacementView verdict;  // the cycle's last one
  GangRequest request;
  std::vector<WorkerPlace> workers;
  int nodes = 0;         // of the cluster
  std::string left_out;  // nodes that are not for it, by why
  int fits = 0;          // workers of it that fit as it is, now; for one that waits
  std::vector<Relaxation> relaxations;
  uint64_t decision = 0;               // for muster replay; 0: it is not kept
  std::optional<StartForecast> start;  // of one that waits for its turn
  absl::Time now = absl::UnixEpoch();  // when it was asked
  std::string warning;  // what is wrong with the job without keeping it from its turn
};

// Of a gang with pods, or one that is only thought of.
GangReport ReportGang(ClusterModel& model, const PartialGang& gang, const PodRecord& pod);

// A domain of the tree with all below it, down to a level.
struct DomainReport {
  std::string level;  // empty: the cluster
  std::string name;
  int nodes = 0;
  int usable = 0;  // ready, not cordoned, not about to go, not faulty
  // Of those that are not usable, how many there are for each first cause.
  std::map<FilterReason, int> closed;
  std::vector<NodeTrouble> troubles;  // of a host
  Resources allocatable;
  Resources free;
  std::vector<DomainReport> children;
};

// `depth` levels below the cluster at most.
DomainReport ReportTree(ClusterModel& model, int depth);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_EXPLAIN_PLACEMENT_REPORT_H_
