#ifndef MUSTER_OPERATOR_SCHEDULER_EXPLAIN_PLACEMENT_QUESTIONS_H_
#define MUSTER_OPERATOR_SCHEDULER_EXPLAIN_PLACEMENT_QUESTIONS_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "operator/objects/caches.h"
#include "operator/placement/complete_gang.h"
#include "operator/placement/gang_nodes.h"
#include "operator/queue/book/queued_job.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/forecast/what_if.h"
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
  // The queue's answer, and when the job would start.
  WhatIfAnswer queue;
};

// The scheduling cycle's state that a question about queues reads and leaves unchanged.
struct QueueWorld {
  absl::Time now;  // the wall clock's
  ClusterModel& model;
  const NodeHolders& holders;
  NodeEligibility& gate;
  const QueueSync& book;
  ScheduleOptions options;  // of the next cycle
};

// Reports how the job's gang stands; without workers if the job has no pods.
GangReport ExplainGang(ClusterModel& model, const TrainingJob& job, PlacementView verdict);

// Forecasts where a job with such pods would go; its queue is not asked.
PlacementForecast ForecastGang(ClusterModel& model, const TrainingJob& job, const PodRecord& pod);

// A question about the future of a waiting job: the next decision's input. Jobs far behind it, and
// those beyond the first few hundred, are assumed to be able to run on every node.
struct QueueQuestion {
  DecisionInput input;
  QueuedJob job;
  // Answers about a gang with inter-pod constraints from a copy of the cluster; null for any other
  // gang.
  std::unique_ptr<GangGate> gate;
};

// Makes the question for ForecastStart about a waiting job.
QueueQuestion QuestionAbout(const QueueWorld& world, const std::string& uid);
// Makes the question for AskWhatIf about a hypothetical job, which is not in the input. A job of
// its name that waits already is left out.
QueueQuestion QuestionWith(const QueueWorld& world, const TrainingJob& job, const PodRecord& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_EXPLAIN_PLACEMENT_QUESTIONS_H_
