#ifndef MUSTER_OPERATOR_RUNTIME_PLACEMENT_QUESTIONS_H_
#define MUSTER_OPERATOR_RUNTIME_PLACEMENT_QUESTIONS_H_

#include <variant>

#include "operator/placement/complete_gang.h"
#include "operator/runtime/caches.h"
#include "operator/runtime/cluster_model.h"
#include "operator/runtime/gang_placer.h"
#include "operator/runtime/placement_report.h"

namespace muster::control {

using PlacementAnswer = std::variant<Completion, PlacementRefusal>;

struct PlacementForecast {
  GangReport report;
  PlacementAnswer answer;
};

// How the job's gang stands; without workers when it has no pods.
GangReport ExplainGang(ClusterModel& model, const TrainingJob& job, PlacementView verdict);

// Where a job with such pods would go.
PlacementForecast ForecastGang(ClusterModel& model, const TrainingJob& job, const PodRecord& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_PLACEMENT_QUESTIONS_H_
