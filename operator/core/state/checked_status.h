#ifndef MUSTER_OPERATOR_CORE_STATE_CHECKED_STATUS_H_
#define MUSTER_OPERATOR_CORE_STATE_CHECKED_STATUS_H_

#include <string>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// Compares the fields on which pods, orders and the next leader rest: term, round, membership,
// incarnations, the workers that have ended or were told to stop, and the checkpoint that is the
// floor. Returns a sentence that names the fields in which `stored` differs from `written`; empty
// if they are equal.
std::string DescribeMissingFields(const v1alpha1::TrainingJobStatus& written,
                                  const v1alpha1::TrainingJobStatus& stored);

// Returns a status that has only those fields.
v1alpha1::TrainingJobStatus DurablePart(const v1alpha1::TrainingJobStatus& status);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_CHECKED_STATUS_H_
