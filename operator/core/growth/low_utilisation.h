#ifndef MUSTER_OPERATOR_CORE_GROWTH_LOW_UTILISATION_H_
#define MUSTER_OPERATOR_CORE_GROWTH_LOW_UTILISATION_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: a job whose workers are busy for too little of the time gives some of them back.
//
// With elastic.utilisation, the job shrinks to the largest size at which its workers are expected
// to be busy for at least `below` of the time. If there is no such size, it shrinks to the smallest
// size that it may have. If the new size is below workers.count, it is written to
// status.elastic.kept, and the queue gives the job no more workers than that. The job wants a
// larger size, up to workers.count, once that size has been expected to be busy for at least 1.25
// times `below` during all of elastic.utilisation.for, an hour after it gave workers back at the
// earliest. That hour doubles each time, because workers that are more may wait for each other for
// longer than the forecast assumes.
//
// Without elastic.utilisation, a job that has grown beyond workers.count goes back to the next
// smaller size if its ranks were busy for less than half of the last five minutes.
//
// A job that has given up workers beyond workers.count does not grow beyond it again for an hour.
void GiveUpIdleWorkers(Draft& draft);

// Returns the part of the time, 0 to 1, for which `others` workers are expected to be busy, given
// that `workers` workers are busy for `busy` of the time. The forecast assumes that the work of a
// step and the time that a step spends waiting are the same for both sizes. `workers` and
// `others` are positive.
double ExpectedUse(const v1alpha1::TrainingJobSpec& spec, double busy, int workers, int others);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_GROWTH_LOW_UTILISATION_H_
