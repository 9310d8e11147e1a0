#ifndef MUSTER_OPERATOR_RUNTIME_PLACEMENT_QUESTIONS_H_
#define MUSTER_OPERATOR_RUNTIME_PLACEMENT_QUESTIONS_H_

#include <string>
#include <utility>
#include <variant>

#include "absl/time/time.h"
#include "operator/placement/complete_gang.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/queued_job.h"
#include "operator/queue/schedule.h"
#include "operator/queue/what_if.h"
#include "operator/runtime/caches.h"
#include "operator/runtime/cluster_model.h"
#include "operator/runtime/gang_placer.h"
#include "operator/runtime/job_book.h"
#include "operator/runtime/placement_report.h"
#include "operator/runtime/pod_gate.h"

namespace muster::control {

struct PlacementForecast {
  GangReport report;
  PlacementAnswer answer;
  // What its queue would say, and when it would start.
  WhatIfAnswer queue;
};

// What a question about queues is asked of: the scheduling cycle's own state, left as it was.
struct QueueWorld {
  absl::Time now;  // the wall clock's
  ClusterModel& model;
  PodGate& gate;
  const JobBook& book;
  ScheduleOptions options;  // of the next cycle
};

// How the job's gang stands; without workers when it has no pods.
GangReport ExplainGang(ClusterModel& model, const TrainingJob& job, PlacementView verdict);

// Where a job with such pods would go; its queue is not asked.
PlacementForecast ForecastGang(ClusterModel& model, const TrainingJob& job, const PodRecord& pod);

// The next decision's input, for ForecastStart about a job that waits. Jobs far behind it, and more
// than a few hundred, are taken to be able to run on every node.
DecisionInput InputAbout(const QueueWorld& world, const std::string& uid);
// The same for AskWhatIf, and what would wait: a job that is only thought of. One of its name that
// waits already is left out.
std::pair<DecisionInput, QueuedJob> InputWith(const QueueWorld& world, const TrainingJob& job,
                                              const PodRecord& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_PLACEMENT_QUESTIONS_H_
