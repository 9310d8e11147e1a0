#ifndef MUSTER_OPERATOR_CORE_LOW_UTILISATION_H_
#define MUSTER_OPERATOR_CORE_LOW_UTILISATION_H_

#include "operator/core/draft.h"

namespace muster::control {

// Policy: a job whose workers are busy for too little of the time gives some back.
//
// With elastic.utilisation the job goes to the largest size that is expected to be used enough, or
// to the smallest one that it may have. Sizes within workers.count are kept in status.elastic.kept,
// and the job's queue then asks for no more. The job wants more of workers.count again once they
// are expected to be used a quarter more than enough for as long. Without elastic.utilisation, a
// job that has grown beyond workers.count and whose ranks were busy for less than half of five
// minutes goes back to the next smaller size. In both cases it then does not grow beyond
// workers.count for an hour.
void GiveUpIdleWorkers(Draft& draft);

// Returns the part of the time in which `others` workers are expected to be busy, if `workers` are
// for `busy` of it: the work of a step stays the same, and so does the time that it spends on other
// things. Both numbers are positive.
double ExpectedUse(const v1alpha1::TrainingJobSpec& spec, double busy, int workers, int others);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_LOW_UTILISATION_H_
