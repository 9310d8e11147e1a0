#ifndef MUSTER_OPERATOR_CORE_STATE_NOTICES_H_
#define MUSTER_OPERATOR_CORE_STATE_NOTICES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/core/state/view.h"

// Finds out whether a node is about to be taken away, from its taints and from its agent. Pure.
namespace muster::control {

// A taint that announces the end of a node, whichever program sets it.
struct NoticeTaint {
  absl::string_view key;
  absl::string_view value;  // empty: any
  // The least time that is left when the taint appears.
  absl::Duration warning;
  absl::string_view who;
  // The node may go, but need not, and the taint may be taken back.
  bool advice = false;
};

// Returns all notice taints. One that is only advice counts if its effect is NoSchedule or
// NoExecute: AWS's node termination handler sets these if configured so, while the cluster
// autoscaler marks a node that it might remove as PreferNoSchedule. Taints that only state the
// node's kind (a spot price) or a cordon are not listed, because no worker has to leave for them.
// Taints of a node that is already lost are not listed, except kOutOfService, because they evict
// its pods.
const std::vector<NoticeTaint>& NoticeTaints();

// Returns the notice among a node's taints, or null. A certain notice comes before advice, then the
// one with the shortest warning.
const NoticeTaint* FindNoticeTaint(const std::vector<TaintView>& taints);

// An announcement that a node goes away.
struct Announcement {
  std::string source;  // the taint's key, or the label with its value
  std::string who;     // "AWS takes a spot node"
  // The time until the announced deadline, negative if that has passed; without a deadline, the
  // least time until the node goes.
  absl::Duration left;
  bool node_stays = false;  // only the worker is to leave it
  // The node may go or not: a worker leaves it only if a spare takes its seat.
  bool advice = false;
};

// The time that a worker has to leave a node that stays.
inline constexpr absl::Duration kNodeStaysWarning = absl::Minutes(10);

// Returns the announcement made by a taint or by the node's agent, or nullopt. A certain
// announcement comes before advice, then the one that leaves the least time. No new pod should be
// bound to such a node, whatever the pod tolerates and whatever the taint's effect is, because it
// would have to leave again. `wall` is the current wall-clock time.
std::optional<Announcement> FindAnnouncement(const std::vector<TaintView>& taints,
                                             const std::optional<NodeNotice>& notice,
                                             absl::Time wall);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_NOTICES_H_
