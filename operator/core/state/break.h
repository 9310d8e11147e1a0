#ifndef MUSTER_OPERATOR_CORE_STATE_BREAK_H_
#define MUSTER_OPERATOR_CORE_STATE_BREAK_H_

#include <set>
#include <string>

#include "operator/core/state/conditions.h"

namespace muster::control {

// The reason why a round that is under way cannot go on.
struct Break {
  Reason reason = Reason::kWorkerLost;
  std::string sentence;
  // Workers that failurePolicy Shrink leaves out of the next round.
  std::set<int> failed;
  // Workers whose pods are replaced because they missed a deadline.
  std::set<int> late;
  std::string bad_checkpoint;
  // This is more evidence of the failure that broke the round before, so it adds no back-off.
  bool same_failure = false;
  // The job waits for its owner's decision: see OwnerDecision() in floor.h.
  bool asks = false;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_BREAK_H_
