#ifndef MUSTER_OPERATOR_CORE_STATE_NOTICES_H_
#define MUSTER_OPERATOR_CORE_STATE_NOTICES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/core/state/view.h"

// The ways in which it is announced that a node is about to be taken away. Pure.
namespace muster::control {

// A taint that announces the end of a node, whichever program sets it.
struct NoticeTaint {
  absl::string_view key;
  absl::string_view value;  // empty: any
  // The time that is left at least when the taint appears.
  absl::Duration warning;
  absl::string_view who;
  // It says only that the node may go, and may be taken back.
  bool advice = false;
};

// Returns all notice taints. One that is only advice counts where its effect is NoSchedule or
// NoExecute: AWS's node termination handler sets it so if it was told to, while the cluster
// autoscaler's mark of a node that it might remove is PreferNoSchedule. Taints that only state the
// node's kind (a spot price), that it is cordoned, or that it is lost already are not among them:
// nobody has to leave for the first two, and the last are evictions.
const std::vector<NoticeTaint>& NoticeTaints();

// Returns the notice with the shortest warning among a node's taints, or null.
const NoticeTaint* FindNoticeTaint(const std::vector<TaintView>& taints);

// An announcement that a node goes away.
struct Announcement {
  std::string source;  // the taint's key, or the label with its value
  std::string who;     // "AWS takes a spot node"
  // The time until the node goes: by the announced deadline, or else at least. Negative if the
  // deadline has passed.
  absl::Duration left;
  bool node_stays = false;  // only the worker is to leave it
  // The node may go or not: a worker leaves it only if a spare takes its seat.
  bool advice = false;
};

// The time that a worker has to leave a node that nobody takes away.
inline constexpr absl::Duration kNodeStaysWarning = absl::Minutes(10);

// Returns the announcement, by taint or by the node's agent, that leaves the least time; nullopt if
// there is none. Nothing new is to be bound to a node that has one, whatever the pod tolerates and
// the taint's effect is, because it would have to leave again. `wall` is the time now.
std::optional<Announcement> FindAnnouncement(const std::vector<TaintView>& taints,
                                             const std::optional<NodeNotice>& notice,
                                             absl::Time wall);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_NOTICES_H_
