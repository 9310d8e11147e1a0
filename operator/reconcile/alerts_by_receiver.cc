#include "operator/reconcile/alerts_by_receiver.h"

#include "operator/core/state/conditions.h"

namespace muster::control {

Notifier::ByReceiver AlertsByReceiver(const v1alpha1::TrainingJobSpec& spec,
                                      const v1alpha1::TrainingJobStatus& status) {
  Notifier::ByReceiver alerts;
  for (const v1alpha1::AlertStatus& alert : status.alerts()) {
    for (const v1alpha1::AlertRule& rule : spec.alerts()) {
      if (rule.name() != alert.name() || rule.receiver().empty()) continue;
      alerts[rule.receiver()].push_back({alert.name(), alert.kind(), alert.message(),
                                         rule.action() == "Suspend", ParseWall(alert.since())});
    }
  }
  return alerts;
}

}  // namespace muster::control
