#ifndef MUSTER_OPERATOR_CORE_CHECKED_STATUS_H_
#define MUSTER_OPERATOR_CORE_CHECKED_STATUS_H_

#include <string>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// What of the status pods, orders and the next leader rest on: term, round, membership,
// incarnations, which workers have ended, and the checkpoint that is the floor. A sentence on which
// of them `stored` does not have as they were written; empty when it has all.
std::string DescribeLoss(const v1alpha1::TrainingJobStatus& written,
                         const v1alpha1::TrainingJobStatus& stored);

// Those fields alone.
v1alpha1::TrainingJobStatus DurablePart(const v1alpha1::TrainingJobStatus& status);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_CHECKED_STATUS_H_
