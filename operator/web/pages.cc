#include "operator/web/pages.h"

#include <utility>

#include "operator/api/codec.h"
#include "operator/api/redact.h"
#include "operator/metrics/exposition.h"
#include "operator/web/encode.h"
#include "operator/web/live_metrics.h"
#include "operator/web/not_found.h"

namespace muster::control {
namespace {

Json Agents(const WebDeps& deps, const std::string& uid) {
  Json agents = Json::array();
  for (const AgentState& agent : deps.registry.Agents(uid)) agents.push_back(ToJson(agent));
  return agents;
}

std::string StateOf(const TrainingJob& job) {
  return job.status.state().empty() ? "Pending" : job.status.state();
}

}  // namespace

std::string MetricsPage(const WebDeps& deps, bool open_metrics) {
  const auto families = CollectMetrics(deps);
  return open_metrics ? ToOpenMetrics(families) : ToText(families);
}

Json JobList(const WebDeps& deps) {
  Json items = Json::array();
  for (const JobCache::Object& job : deps.jobs.List()) {
    items.push_back({{"namespace", job->ns},
                     {"name", job->name},
                     {"uid", job->uid},
                     {"state", StateOf(*job)},
                     {"workers", EncodeMessage(job->status.workers())},
                     {"round", job->status.round()},
                     {"steps", job->spec.trainer().train().steps()},
                     {"progress", ToJson(deps.progress.Snapshot(job->uid))}});
  }
  return {{"items", std::move(items)}};
}

absl::StatusOr<Json> JobPage(const WebDeps& deps, const kube::ObjectKey& key,
                             const JobQuery& query) {
  const JobCache::Object job = deps.jobs.Get(key);
  if (job == nullptr) return NoSuchJob(deps.jobs, key);
  Json page = control::ToJson(*job);
  RedactEnvironment(page);
  page["agents"] = Agents(deps, job->uid);
  page["progress"] = ToJson(deps.progress.Snapshot(job->uid));
  Json pods = Json::array();
  for (const PodCache::Object& pod : deps.pods.ListByOwner(job->uid)) {
    if (IsWorkerOf(*pod, key, job->uid)) pods.push_back(ToJson(*pod));
  }
  page["pods"] = std::move(pods);
  for (const JobDebug& debug : deps.controller.Debug()) {
    if (debug.key == kube::ToString(key)) page["round"] = ToJson(debug);
  }
  Json steps = Json::array();
  for (const auto& step : deps.progress.StepsSince(job->uid, query.since, query.limit)) {
    steps.push_back(ToJson(step));
  }
  page["steps"] = std::move(steps);
  if (!query.curve) return page;
  Json curve = Json::array();
  for (const CurvePoint& point : deps.progress.Curve(job->uid)) {
    Json entry = {{"step", point.step}, {"loss", FiniteNumber(point.loss)}};
    if (point.validation_loss) entry["validationLoss"] = FiniteNumber(*point.validation_loss);
    curve.push_back(std::move(entry));
  }
  page["curve"] = std::move(curve);
  return page;
}

}  // namespace muster::control
