#ifndef MUSTER_OPERATOR_RECONCILE_ALERTS_BY_RECEIVER_H_
#define MUSTER_OPERATOR_RECONCILE_ALERTS_BY_RECEIVER_H_

#include "operator/notify/notifier.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// Returns the alerts that fire by the status, each for the receiver that its rule names. Pure.
Notifier::ByReceiver AlertsByReceiver(const v1alpha1::TrainingJobSpec& spec,
                                      const v1alpha1::TrainingJobStatus& status);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_ALERTS_BY_RECEIVER_H_
