#ifndef MUSTER_OPERATOR_QUEUE_FORECAST_WHAT_IF_H_
#define MUSTER_OPERATOR_QUEUE_FORECAST_WHAT_IF_H_

#include <string>
#include <vector>

#include "operator/placement/gang_nodes.h"
#include "operator/queue/decision.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/forecast/forecast.h"
#include "operator/queue/queued_job.h"

// What Schedule would decide about a job that nobody has submitted. Pure.
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
  double lost = 0;  // GPU-seconds; workers' seconds where they have no GPU
  std::string why;  // it may be asked, and is needed
};

struct WhatIfAnswer {
  Decision decision;  // with names in place of UIDs
  std::vector<NeededVictim> victims;
  StartForecast start;
};

// `newcomer` waits; its UID is nobody else's. `gate` as in ForecastStart.
WhatIfAnswer AskWhatIf(DecisionInput input, const QueuedJob& newcomer,
                       const ForecastLimits& limits = {}, GangGate* gate = nullptr);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_FORECAST_WHAT_IF_H_
