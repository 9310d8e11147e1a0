#ifndef MUSTER_OPERATOR_CORE_SAVES_REPLICAS_H_
#define MUSTER_OPERATOR_CORE_SAVES_REPLICAS_H_

#include <vector>

#include "operator/core/state/draft.h"
#include "operator/core/state/plan.h"

namespace muster::control {

// Policy: while a round is Active, tells the agent of each member at which other agent it keeps the
// replica of its copies (replica_ring.h). Agents report where they serve and what they keep when
// they attach, and again when that changes, so that nothing is remembered across a change of
// leader.
void KeepReplicas(Draft& draft);

// Returns the agents that have replicas of the copies of worker `index`, and are attached.
std::vector<ReplicaSite> ReplicasOf(const Draft& draft, int index);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SAVES_REPLICAS_H_
