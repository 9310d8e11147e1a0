#ifndef MUSTER_OPERATOR_RECONCILE_CONTROLLER_OBSERVER_H_
#define MUSTER_OPERATOR_RECONCILE_CONTROLLER_OBSERVER_H_

#include <string_view>

#include "absl/time/time.h"

namespace muster::control {

// Observes the outcomes of decisions. `reason` and `kind` are names of core/conditions.h's Reason,
// or FirstRound: a closed list. Called by reconciling threads; must be quick and thread-safe.
class ControllerObserver {
 public:
  virtual ~ControllerObserver() = default;
  virtual void RoundOpened(std::string_view reason) = 0;
  // An active round broke for another reason than a wanted change of members or spec.
  virtual void RoundBroke(std::string_view kind) = 0;
  // The first active round since RoundBroke.
  virtual void Recovered(std::string_view kind, absl::Duration took) = 0;
  // `kind` and `action` are names of core/failure_policy.h: closed lists.
  virtual void FailureEvaluated(std::string_view kind, std::string_view action) = 0;
  virtual void StatusWritten(bool progress_only) = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_CONTROLLER_OBSERVER_H_
