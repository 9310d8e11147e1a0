#ifndef MUSTER_OPERATOR_QUEUE_FORECAST_WHAT_IF_H_
#define MUSTER_OPERATOR_QUEUE_FORECAST_WHAT_IF_H_

#include <string>
#include <vector>

#include "operator/placement/gang_nodes.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queued_job.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/forecast/forecast.h"

// Answers what Schedule would decide about a hypothetical job. Pure.
namespace muster::control {

// A running job that would make room for it.
struct NeededVictim {
  std::string ns;
  std::string name;
  std::string queue;
  ScheduleAction action = ScheduleAction::kStop;  // or kShrink
  ScheduleReason reason = ScheduleReason::kPriority;
  int workers = 0;  // now
  int keep = 0;     // afterwards
  double lost = 0;  // GPU-seconds; worker-seconds without GPUs
  std::string why;  // why it may be a victim, and why it is needed
};

struct WhatIfAnswer {
  Decision decision;  // with names in place of UIDs
  std::vector<NeededVictim> victims;
  StartForecast start;
};

// `newcomer` waits, with a UID that no other job has. `gate` is as in ForecastStart.
WhatIfAnswer AskWhatIf(DecisionInput input, const QueuedJob& newcomer,
                       const ForecastLimits& limits = {}, GangGate* gate = nullptr);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_FORECAST_WHAT_IF_H_
