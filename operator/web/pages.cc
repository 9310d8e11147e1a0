#include "operator/web/pages.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "operator/api/codec.h"
#include "operator/api/redact.h"
#include "operator/metrics/exposition.h"
#include "operator/queue/record/decision_json.h"
#include "operator/scheduler/queue_sync/queue_report.h"
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

Json ToJson(const WaitingJobReport& job) {
  return {{"job", absl::StrCat(job.ns, "/", job.name)},
          {"priority", job.priority},
          {"workers", job.workers},
          {"gpus", job.gpus},
          {"waitedSeconds", absl::ToInt64Seconds(job.waited)},
          {"reason", job.reason},
          {"sentence", job.sentence}};
}

Json ToJson(const QueueReport& report) {
  Json jobs = Json::array();
  for (const WaitingJobReport& job : report.waiting) jobs.push_back(ToJson(job));
  return {{"name", report.queue.name},
          {"parent", report.queue.parent},
          {"weight", report.queue.weight},
          {"share", report.queue.share},
          {"borrowing", report.queue.borrowing},
          {"cohort", report.cohort},
          {"broken", report.broken},
          {"used", Json(report.queue.used)},
          {"nominal", Json(report.queue.nominal)},
          {"unknownResources", report.unknown},
          {"complaint", report.complaint},
          {"running", report.queue.running},
          {"waiting", report.queue.waiting},
          {"jobs", std::move(jobs)}};
}

// A decision on a large cluster takes some hundred megabytes as JSON, so only one is made at a
// time.
Mutex& OneAtATime() {
  static Mutex& mutex = *new Mutex;
  return mutex;
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

absl::StatusOr<Json> QueuePage(const WebDeps& deps, const std::string& name, int limit) {
  Json items = Json::array();
  std::vector<std::string> names;
  for (const QueueReport& report : deps.scheduler.Queues(limit)) {
    if (name.empty() || report.queue.name == name) items.push_back(ToJson(report));
    names.push_back(report.queue.name);
  }
  if (!name.empty() && items.empty()) {
    return NoSuchQueue(name, names);
  }
  return Json{{"items", std::move(items)}};
}

absl::StatusOr<Json> DecisionPage(const WebDeps& deps, const std::string& id) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(id, &number)) {
    return absl::InvalidArgumentError(absl::StrCat("a decision is a number, not '", id, "'"));
  }
  if (!deps.decision) {
    return absl::NotFoundError(
        "this operator keeps no decisions; start it with --decision-log-dir=DIRECTORY");
  }
  MutexLock lock(OneAtATime());
  MUSTER_ASSIGN_OR_RETURN(const DecisionRecord record, deps.decision(number));
  return ToJson(record);
}

}  // namespace muster::control
