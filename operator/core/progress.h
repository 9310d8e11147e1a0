#ifndef MUSTER_OPERATOR_CORE_PROGRESS_H_
#define MUSTER_OPERATOR_CORE_PROGRESS_H_

#include "operator/core/draft.h"

namespace muster::control {

// Policy: the newest committed step goes into status.progress, at most once per
// options.progress_interval; live values come from metrics and the HTTP API. A checkpoint is told
// with its step: what is durable is done.
void ReportProgress(Draft& draft);

// Writes it whatever the interval: when the job ends.
void WriteProgress(Draft& draft);

// A step was committed since the round became Active; never without trainer, whose steps nobody
// sees.
bool HasNewStep(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_PROGRESS_H_
