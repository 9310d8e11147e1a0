#ifndef MUSTER_OPERATOR_CORE_ROUND_GANG_H_
#define MUSTER_OPERATOR_CORE_ROUND_GANG_H_

#include <string>

#include "absl/strings/string_view.h"
#include "operator/core/state/draft.h"

namespace muster::control {

inline constexpr char kJobLabel[] = "muster.dev/job";
inline constexpr char kIndexLabel[] = "muster.dev/index";
inline constexpr char kIncarnationLabel[] = "muster.dev/incarnation";

// Returns "<job>-<index>-<incarnation>".
std::string PodName(absl::string_view job, int index, int incarnation);

// Policy: one pod per worker index below Draft::PodsWanted(). A pod is made in two decisions: first
// its incarnation is raised in the status, and only once that is observed is it created, so that a
// name never stands for two pods. A lost worker's replacement waits for the back-off, but never for
// the old pod to be gone. Pods of older incarnations are deleted; pods at or above that number are
// deleted once no round needs them.
void ReconcilePods(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_GANG_H_
