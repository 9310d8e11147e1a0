#ifndef MUSTER_OPERATOR_SCHEDULER_EXPLAIN_PLACEMENT_QUESTIONS_H_
#define MUSTER_OPERATOR_SCHEDULER_EXPLAIN_PLACEMENT_QUESTIONS_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "operator/objects/caches.h"
#include "operator/placement/complete_gang.h"
#include "operator/placement/gang_nodes.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/forecast/what_if.h"
#include "operator/queue/queued_job.h"
#include "operator/queue/schedule.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/cluster/node_holders.h"
#include "operator/scheduler/explain/placement_report.h"
#include "operator/scheduler/gang/gang_placer.h"
#include "operator/scheduler/gang/node_eligibility.h"
#include "operator/scheduler/queue_sync/queue_sync.h"

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
  const NodeHolders& holders;
  PodGate& gate;
  const JobBook& book;
  ScheduleOptions options;  // of the next cycle
};

// How the job's gang stands; without workers when it has no pods.
GangReport ExplainGang(ClusterModel& model, const TrainingJob& job, PlacementView verdict);

// Where a job with such pods would go; its queue is not asked.
PlacementForecast ForecastGang(ClusterModel& model, const TrainingJob& job, const PodRecord& pod);

// A question about the future of a waiting job: the next decision's input. Jobs far behind it, and
// more than a few hundred, are taken to be able to run on every node.
struct QueueQuestion {
  DecisionInput input;
  QueuedJob job;
  // Of a social gang: asks a copy of the cluster. Else null.
  std::unique_ptr<GangGate> gate;
};

// For ForecastStart, about a job that waits.
QueueQuestion QuestionAbout(const QueueWorld& world, const std::string& uid);
// For AskWhatIf, about one that is only thought of and not in the input. One of its name that waits
// already is left out.
QueueQuestion QuestionWith(const QueueWorld& world, const TrainingJob& job, const PodRecord& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_EXPLAIN_PLACEMENT_QUESTIONS_H_
