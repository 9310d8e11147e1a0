#include "operator/web/pages.h"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/api/codec.h"

namespace muster::control {
namespace {

using prometheus::MetricType;
using Labels = std::vector<std::pair<std::string, std::string>>;

// JSON has no infinities; null says the same.
Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json ToJson(const v1alpha1::RoundId& id) { return {{"term", id.term()}, {"round", id.round()}}; }

Json ToJson(const v1alpha1::PhaseTimes& times) {
  return {{"init", times.init()},
          {"compute", times.compute()},
          {"data", times.data()},
          {"communication", times.communication()},
          {"checkpoint", times.checkpoint()},
          {"recovery", times.recovery()},
          {"other", times.other()}};
}

Json ToJson(const v1alpha1::StepReport& step) {
  Json json = {{"step", step.version().step()},
               {"attempt", step.version().attempt()},
               {"loss", Number(step.loss())},
               {"gradientNorm", Number(step.gradient_norm())},
               {"learningRate", Number(step.learning_rate())},
               {"applied", step.applied()},
               {"tokens", step.tokens()},
               {"finishedAtMicros", step.finished_at_us()},
               {"times", ToJson(step.times())}};
  if (step.has_validation_loss()) json["validationLoss"] = Number(step.validation_loss());
  return json;
}

Json ToJson(const v1alpha1::CheckpointReport& report) {
  return {{"step", report.version().step()},
          {"directory", report.directory()},
          {"uri", report.uri()},
          {"error", report.error()},
          {"bytes", report.bytes()},
          {"seconds", report.seconds()}};
}

Json ToJson(const ProgressSnapshot& snapshot) {
  Json json = {{"tokensPerSecond", snapshot.tokens_per_second},
               {"stepsPerSecond", snapshot.steps_per_second},
               {"stepsSeen", snapshot.steps_seen},
               {"times", ToJson(snapshot.times)}};
  if (snapshot.last_step) json["lastStep"] = ToJson(*snapshot.last_step);
  if (snapshot.best_loss) json["bestLoss"] = Number(*snapshot.best_loss);
  if (snapshot.validation_loss) json["validationLoss"] = Number(*snapshot.validation_loss);
  if (snapshot.last_written) json["checkpoint"] = ToJson(*snapshot.last_written);
  if (snapshot.last_failed) json["checkpointFailure"] = ToJson(*snapshot.last_failed);
  return json;
}

Json ToJson(const AgentState& agent) {
  Json json = {{"index", agent.worker.index()},
               {"incarnation", agent.worker.incarnation()},
               {"attached", agent.attached},
               {"session", agent.session},
               {"ranks", agent.ranks},
               {"host", agent.host},
               {"version", agent.version},
               {"seen", ToJson(agent.seen)},
               {"active", ToJson(agent.active)},
               {"unhandledFailures", agent.exits.size() + agent.stalls.size()}};
  if (agent.ready) json["ready"] = ToJson(agent.ready->round());
  if (agent.joined) json["joined"] = ToJson(agent.joined->round());
  if (agent.finished) json["finished"] = ToJson(agent.finished->round());
  return json;
}

Json ToJson(const JobDebug& debug) {
  return {{"key", debug.key},
          {"term", debug.term},
          {"round", {{"term", debug.round.term}, {"round", debug.round.round}}},
          {"phase", debug.phase},
          {"reason", debug.reason},
          {"sentence", debug.sentence},
          {"reconciles", debug.reconciles},
          {"roundsOpened", debug.rounds_opened},
          {"recoveries", debug.recoveries}};
}

Json ToJson(const PodRecord& pod) {
  static constexpr const char* kPhases[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
  Json json = {{"name", pod.key.name},
               {"phase", kPhases[static_cast<int>(pod.view.phase)]},
               {"node", pod.view.node},
               {"terminating", pod.view.deleting}};
  if (pod.view.exit_code) json["exitCode"] = *pod.view.exit_code;
  if (!pod.view.reason.empty()) json["reason"] = pod.view.reason;
  return json;
}

Json Agents(const WebDeps& deps, const std::string& uid) {
  Json agents = Json::array();
  for (const AgentState& agent : deps.registry.Agents(uid)) agents.push_back(ToJson(agent));
  return agents;
}

std::string StateOf(const TrainingJob& job) {
  return job.status.state().empty() ? "Pending" : job.status.state();
}

void AddQueue(const WebDeps& deps, std::vector<prometheus::MetricFamily>& out) {
  const WorkQueue::Stats stats = deps.queue.stats();
  FamilyBuilder depth("muster_workqueue_keys", "Keys in the work queue, by state.",
                      MetricType::Gauge);
  depth.Add(static_cast<double>(stats.waiting), {{"state", "waiting"}});
  depth.Add(static_cast<double>(stats.delayed), {{"state", "delayed"}});
  depth.Add(static_cast<double>(stats.in_progress), {{"state", "in_progress"}});
  out.push_back(depth.Take());
  FamilyBuilder adds("muster_workqueue_adds_total", "Keys added.", MetricType::Counter);
  out.push_back(adds.Add(static_cast<double>(stats.adds)).Take());
  FamilyBuilder retries("muster_workqueue_retries_total", "Keys added after a failure.",
                        MetricType::Counter);
  out.push_back(retries.Add(static_cast<double>(stats.retries)).Take());
}

void AddOperator(const WebDeps& deps, std::vector<prometheus::MetricFamily>& out) {
  FamilyBuilder agents("muster_agents_attached", "Agent streams open.", MetricType::Gauge);
  out.push_back(agents.Add(deps.registry.attached()).Take());
  FamilyBuilder binds("muster_pods_bound_total", "Pods bound to nodes.", MetricType::Counter);
  out.push_back(binds.Add(static_cast<double>(deps.scheduler.binds())).Take());
  FamilyBuilder rounds("muster_rounds_opened_total", "Rounds opened since this operator started.",
                       MetricType::Counter);
  FamilyBuilder recoveries("muster_recoveries_total",
                           "Active rounds that broke since this operator started.",
                           MetricType::Counter);
  for (const JobDebug& debug : deps.controller.Debug()) {
    rounds.Add(static_cast<double>(debug.rounds_opened), {{"job", debug.key}});
    recoveries.Add(static_cast<double>(debug.recoveries), {{"job", debug.key}});
  }
  out.push_back(rounds.Take());
  out.push_back(recoveries.Take());
}

void AddJobs(const WebDeps& deps, std::vector<prometheus::MetricFamily>& out) {
  std::map<std::string, int> states;
  FamilyBuilder step("muster_job_step", "Newest committed step.", MetricType::Gauge);
  FamilyBuilder loss("muster_job_loss", "Loss of the newest step.", MetricType::Gauge);
  FamilyBuilder speed("muster_job_tokens_per_second", "Tokens per second of late.",
                      MetricType::Gauge);
  for (const JobCache::Object& job : deps.jobs.List()) {
    ++states[StateOf(*job)];
    const ProgressSnapshot snapshot = deps.progress.Snapshot(job->uid);
    if (!snapshot.last_step) continue;
    const Labels labels = {{"job", absl::StrCat(job->ns, "/", job->name)}};
    step.Add(static_cast<double>(snapshot.last_step->version().step()), labels);
    loss.Add(snapshot.last_step->loss(), labels);
    speed.Add(snapshot.tokens_per_second, labels);
  }
  FamilyBuilder jobs("muster_jobs", "Jobs by state.", MetricType::Gauge);
  for (const auto& [state, count] : states) jobs.Add(count, {{"state", state}});
  out.push_back(jobs.Take());
  out.push_back(step.Take());
  out.push_back(loss.Take());
  out.push_back(speed.Take());
}

}  // namespace

std::string MetricsPage(const WebDeps& deps) {
  std::vector<prometheus::MetricFamily> families = deps.reconciles.Collect();
  AddQueue(deps, families);
  AddOperator(deps, families);
  AddJobs(deps, families);
  return ToText(families);
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
  if (job == nullptr) {
    return absl::NotFoundError(absl::StrCat("there is no job ", kube::ToString(key)));
  }
  Json page = control::ToJson(*job);
  page["agents"] = Agents(deps, job->uid);
  page["progress"] = ToJson(deps.progress.Snapshot(job->uid));
  Json pods = Json::array();
  for (const PodCache::Object& pod : deps.pods.ListByOwner(job->uid)) pods.push_back(ToJson(*pod));
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
    Json entry = {{"step", point.step}, {"loss", Number(point.loss)}};
    if (point.validation_loss) entry["validationLoss"] = Number(*point.validation_loss);
    curve.push_back(std::move(entry));
  }
  page["curve"] = std::move(curve);
  return page;
}

Json DebugPage(const WebDeps& deps) {
  const WorkQueue::Stats queue = deps.queue.stats();
  Json jobs = Json::array();
  for (const JobDebug& debug : deps.controller.Debug()) {
    Json entry = ToJson(debug);
    entry["agents"] = Agents(deps, debug.uid);
    const PlacementView verdict = deps.scheduler.Verdict(debug.uid);
    if (!verdict.reason.empty()) {
      entry["placement"] = {{"reason", verdict.reason}, {"sentence", verdict.sentence}};
    }
    jobs.push_back(std::move(entry));
  }
  return {{"jobs", std::move(jobs)},
          {"attached", deps.registry.attached()},
          {"caches",
           {{"jobs", {{"objects", deps.jobs.size()}, {"version", deps.jobs.LatestVersion()}}},
            {"pods", {{"objects", deps.pods.size()}, {"version", deps.pods.LatestVersion()}}}}},
          {"queue",
           {{"waiting", queue.waiting},
            {"delayed", queue.delayed},
            {"inProgress", queue.in_progress},
            {"retries", queue.retries}}}};
}

}  // namespace muster::control
