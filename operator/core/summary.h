#ifndef MUSTER_OPERATOR_CORE_SUMMARY_H_
#define MUSTER_OPERATOR_CORE_SUMMARY_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// The summary, after all policies: sets the conditions Scheduled, Running and Degraded,
// workers.ready and the state for people, from what the policies decided.
void Summarize(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SUMMARY_H_
