#ifndef MUSTER_OPERATOR_CORE_STATE_TUNED_STEPS_H_
#define MUSTER_OPERATOR_CORE_STATE_TUNED_STEPS_H_

#include <string>
#include <vector>

#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The changes of a run while it trains: what spec.trainer.tunings asks for, beside the steps at
// which status.tunings says that they came into force. An entry of the status belongs to the entry
// of the spec that has the same place in its list. Pure.
namespace muster::control {

// Writes the known steps into the spec as fromStep, so that ranks that do these steps again get
// each change at the same step again.
void NoteTunedSteps(const v1alpha1::TrainingJobStatus& status, v1alpha1::TrainingJobSpec& spec);

// Returns the list that ranks get: one item for each of the spec, with its known step, or else its
// fromStep; 0 for one that has neither.
std::vector<v1alpha1::Tuning> TuningsOf(const v1alpha1::TrainingJobSpec& spec,
                                        const v1alpha1::TrainingJobStatus& status);

// Returns "learning rate 0.0001, clip norm 0.5 from step 1201 (asked by anna)", without what is
// absent; for step 0 "from the next step of all ranks".
std::string DescribeTuning(const v1alpha1::TuningStatus& tuning);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_TUNED_STEPS_H_
