#ifndef MUSTER_OPERATOR_CORE_STATE_PROGRESS_H_
#define MUSTER_OPERATOR_CORE_STATE_PROGRESS_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: writes the newest committed step to status.progress, at most once per
// options.progress_interval; live values come from metrics and the HTTP API. A step that is newly
// durable is written at once, along with its checkpoint.
void ReportProgress(Draft& draft);

// Writes status.progress regardless of the interval; called when the job ends.
void WriteProgress(Draft& draft);

// Returns true if a step was committed since the round became Active. Always false without trainer,
// because a command need not report its steps.
bool HasNewStep(const Draft& draft);

// Returns the time until the run's end at the measured speed; nullopt if no speed is known, or a
// command has not said how many steps it has.
std::optional<absl::Duration> TimeLeft(const Draft& draft);

// Returns the step of the newest checkpoint that is known to be written, or -1. The status counts
// too, because the last leader may have had a newer report.
int64_t NewestCheckpoint(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_PROGRESS_H_
