#ifndef MUSTER_OPERATOR_QUEUE_PLACE_SEARCH_H_
#define MUSTER_OPERATOR_QUEUE_PLACE_SEARCH_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/placement.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/cycle_context.h"
#include "operator/queue/refusal_memo.h"
#include "operator/queue/room/claims.h"
#include "operator/queue/schedule_options.h"

namespace muster::control {

// Says whether a waiting job may start, with how many workers, and on which nodes. A question that
// takes a Decision sets its reason and numbers when the answer is no. The cycle must outlive it;
// the tree is the same after each call as before.
class PlaceSearch {
 public:
  explicit PlaceSearch(CycleContext& cycle);

  // Returns false if its queue could not let the job start even when nothing else ran.
  bool MayEverStart(const JobEntry& entry, Decision& decision) const;
  // The most workers that quota and namespace leave room for; 0 and a reason if these are too few.
  int RoomInQuota(const JobEntry& entry, Decision& decision) const;
  // Finds places for up to `most` workers, at least for the smallest size.
  bool FindPlace(const JobEntry& entry, int most, Placement& placement, Decision& decision);
  // Finds places in room that is not claimed. Looks at room only, so it returns false for a gang
  // with inter-pod constraints.
  bool FindPlaceBesideClaims(const JobEntry& entry, int most, Placement& placement);

  // The nodes that the job may use; null: all.
  std::shared_ptr<const GangNodes> NodesFor(const JobEntry& entry) const;
  // The tree's indices of nodes that it has.
  std::vector<int> NodesOf(const std::vector<std::string>& names) const;

 private:
  // Finds places by all rules, for a gang with inter-pod constraints. Nothing: the gate does not
  // know.
  std::optional<bool> AskGate(const JobEntry& entry, const GangRequest& request,
                              Placement& placement, Decision& decision) const;

  const absl::Time now_;
  TopologyTree& tree_;
  const QueueBook::State& state_;
  const ScheduleOptions& options_;
  const Claims& claims_;
  RefusalMemo refused_here_;
  RefusalMemo& refused_;  // stays true: a cycle frees nothing
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_PLACE_SEARCH_H_
