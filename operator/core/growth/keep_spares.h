#ifndef MUSTER_OPERATOR_CORE_GROWTH_KEEP_SPARES_H_
#define MUSTER_OPERATOR_CORE_GROWTH_KEEP_SPARES_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: a job with workers.spares asks its queue for pods beyond workers.count, by the fields and
// orders by which other jobs grow (grow.h). So it never waits for them, and gives them up before
// any worker of any job is taken. A spare that is lost is replaced. A job none of whose pods has a
// node starts anew with workers.count.
void KeepSpares(Draft& draft);

// Shows how many spares are ready, and how many of the workers that the job wants to train are.
void ShowSpares(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_GROWTH_KEEP_SPARES_H_
