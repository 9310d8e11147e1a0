#include "operator/runtime/placement_questions.h"

#include <memory>
#include <utility>

#include "operator/api/defaults.h"
#include "operator/runtime/gang_request.h"

namespace muster::control {

GangReport ExplainGang(ClusterModel& model, const TrainingJob& job, PlacementView verdict) {
  const auto found = model.gangs().find(job.uid);
  if (found == model.gangs().end()) {
    GangReport report;
    report.verdict = std::move(verdict);
    report.nodes = model.nodes();
    return report;
  }
  const Gang& gang = found->second;
  v1alpha1::TrainingJobSpec spec = job.spec;
  Default(spec);
  const PodRecord& pod =
      gang.unbound.empty() ? *gang.bound.begin()->second.pod : *gang.unbound.begin()->second;
  GangReport report = ReportGang(model, MakeGangRequest(job, spec, gang), pod);
  for (WorkerPlace& worker : report.workers) {
    for (const auto& [place, bound] : gang.bound) {
      if (place.first == worker.index) worker.pod = place.second;
    }
  }
  for (const auto& [place, waiting] : gang.unbound) {
    report.workers.push_back({place.first, place.second, "", ""});
  }
  report.verdict = std::move(verdict);
  return report;
}

PlacementForecast ForecastGang(ClusterModel& model, const TrainingJob& job, const PodRecord& pod) {
  v1alpha1::TrainingJobSpec spec = job.spec;
  Default(spec);
  Gang gang;
  for (int i = 0; i < spec.workers().count(); ++i) {
    gang.unbound[{i, ""}] = std::make_shared<const PodRecord>(pod);
  }
  const PartialGang request = MakeGangRequest(job, spec, gang);
  return {ReportGang(model, request, pod), PlaceGang(model, request, MissingPods(gang))};
}

}  // namespace muster::control
