#include "operator/web/placement_page.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/json_fields.h"
#include "operator/api/defaults.h"
#include "operator/api/training_job.h"
#include "operator/api/validation.h"
#include "operator/core/growth/size_reason.h"
#include "operator/core/round/gang.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/plan.h"
#include "operator/objects/object_records.h"
#include "operator/placement/filter/refusal.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/forecast/forecast.h"
#include "operator/queue/forecast/what_if.h"
#include "operator/reconcile/pod/pod_builder.h"
#include "operator/scheduler/cluster/node_health.h"
#include "operator/web/not_found.h"
#include "planner/layout.h"
#include "planner/mesh_text.h"

namespace muster::control {
namespace {

std::string Text(absl::string_view view) { return std::string(view.data(), view.size()); }

Json ToJson(const Resources& r) {
  return {{"gpus", r.gpus},
          {"cpuMillis", r.cpu_millis},
          {"memoryBytes", r.memory_bytes},
          {"pods", r.slots}};
}

Json ToJson(const GangRequest& request) {
  Json slices = Json::array();
  for (const Slice& slice : request.slices) {
    slices.push_back({{"workers", slice.size}, {"level", slice.level}});
  }
  Json json = {{"workers", request.max},
               {"min", request.min},
               {"perWorker", ToJson(request.per_worker)},
               {"require", request.required_level},
               {"prefer", request.preferred_level},
               {"slices", std::move(slices)}};
  if (request.spot.given) json["mostOnSpot"] = request.spot.MostOf(request.max);
  return json;
}

Json ToJson(const GangReport& report) {
  Json warnings = Json::array();
  if (!report.warning.empty()) warnings.push_back(report.warning);
  Json workers = Json::array();
  for (const WorkerPlace& worker : report.workers) {
    workers.push_back({{"index", worker.index},
                       {"pod", worker.pod},
                       {"node", worker.node},
                       {"path", worker.path}});
  }
  Json relaxations = Json::array();
  for (const Relaxation& one : report.relaxations) {
    relaxations.push_back({{"change", one.change}, {"workers", one.workers}});
  }
  return {{"reason", report.verdict.reason},       {"sentence", report.verdict.sentence},
          {"score", report.verdict.score},         {"level", report.verdict.level},
          {"domain", report.verdict.domain},       {"asked", ToJson(report.request)},
          {"workers", std::move(workers)},         {"fitsNow", report.fits},
          {"relaxations", std::move(relaxations)}, {"nodes", report.nodes},
          {"nodesLeftOut", report.left_out},       {"warnings", std::move(warnings)}};
}

Json ToJson(const StartForecast& start, absl::Time now) {
  Json awaited = Json::array();
  for (const AwaitedJob& job : start.awaited) {
    Json one = {{"job", kube::ToString({job.ns, job.name})},
                {"workers", job.workers},
                {"toldToGo", job.told}};
    if (job.ends < absl::InfiniteFuture()) one["ends"] = FormatWall(job.ends);
    awaited.push_back(std::move(one));
  }
  Json json = {{"kind", Text(Name(start.kind))},
               {"sentence", Sentence(start, now)},
               {"awaited", std::move(awaited)},
               {"ahead", start.ahead}};
  if (start.at < absl::InfiniteFuture()) {
    json["at"] = FormatWall(start.at);
    json["inSeconds"] = absl::ToInt64Seconds(start.at - now);
  }
  if (start.workers > 0) json["workers"] = start.workers;
  return json;
}

Json ToJson(const NeededVictim& victim) {
  return {{"job", kube::ToString({victim.ns, victim.name})},
          {"queue", victim.queue},
          {"action", Text(Name(victim.action))},
          {"reason", Text(Name(victim.reason))},
          {"workers", victim.workers},
          {"keeps", victim.keep},
          {"gpuSecondsLost", victim.lost},
          {"why", victim.why}};
}

Json ToJson(const DomainReport& domain) {
  Json json = {{"level", domain.level},
               {"name", domain.name},
               {"nodes", domain.nodes},
               {"usable", domain.usable},
               {"allocatable", ToJson(domain.allocatable)},
               {"free", ToJson(domain.free)}};
  for (const auto& [reason, nodes] : domain.closed) {
    json["notUsable"][std::string(Name(reason))] = nodes;
  }
  for (const NodeUnavailability& trouble : domain.troubles) {
    json["health"].push_back(
        {{"reason", std::string(Name(trouble.reason))}, {"sentence", trouble.sentence}});
  }
  if (domain.children.empty()) return json;
  Json& children = json["children"] = Json::array();
  for (const DomainReport& child : domain.children) children.push_back(ToJson(child));
  return json;
}

// Returns a pod of one worker of the job as the cache would hold it.
absl::StatusOr<PodRecord> PodOf(const TrainingJob& job, bool containers) {
  CreatePod create;
  create.name = absl::StrCat(job.name, "-0-1");
  create.labels = {{kJobLabel, job.name}};
  create.ranks = std::max(1, job.spec.workers().gpus());
  create.gpus = job.spec.workers().gpus();
  PodBuilderOptions options;
  options.containers = containers;
  const absl::StatusOr<Json> pod = BuildPod(job, create, options);
  if (!pod.ok()) return pod.status();
  return ParsePodRecord(*pod);
}

// Returns true if the cluster rejects the job, not its queue.
bool IsOfPlace(ScheduleReason reason) {
  return reason == ScheduleReason::kInvalidRequest || reason == ScheduleReason::kNoNodeBigEnough ||
         reason == ScheduleReason::kInsufficient || reason == ScheduleReason::kTopology ||
         reason == ScheduleReason::kSpotLimit;
}

void TellPlace(const Placement& placement, const std::map<int, std::string>& nodes, Json& page) {
  page["score"] = placement.score;
  page["level"] = placement.level;
  page["domain"] = placement.domain;
  for (const auto& [worker, node] : nodes) {
    page["workers"].push_back({{"index", worker}, {"node", node}});
  }
}

void TellPlace(const Placement& placement, Json& page) {
  std::map<int, std::string> nodes;
  for (const std::string& node : placement.nodes) nodes.emplace(nodes.size(), node);
  TellPlace(placement, nodes, page);
}

// Adds the forecast to the page. A queue does not know of refusals by the gang's own rules (its
// pods' affinity to each other, say).
void TellForecast(const Scheduler::Forecast& forecast, Json& page) {
  const Decision& decision = forecast.queue.decision;
  const absl::Time now = forecast.report.now;
  page["start"] = ToJson(forecast.queue.start, now);
  Json& victims = page["victims"] = Json::array();
  for (const NeededVictim& victim : forecast.queue.victims) victims.push_back(ToJson(victim));
  const auto* no = std::get_if<Scheduler::Refusal>(&forecast.answer);
  const auto* placed = std::get_if<Completion>(&forecast.answer);
  if (decision.action == ScheduleAction::kStart) {
    if (no != nullptr) {
      page["reason"] = no->reason;
      page["sentence"] = no->sentence;
      page.erase("start");
    } else if (static_cast<int>(placed->nodes.size()) == decision.workers) {
      TellPlace(placed->gang, placed->nodes, page);
    } else {
      TellPlace(decision.placement, page);
    }
    return;
  }
  const bool by_place = no != nullptr && IsOfPlace(decision.reason);
  page["reason"] = by_place ? no->reason : Text(Name(decision.reason));
  page["sentence"] = by_place ? no->sentence : Sentence(decision, now);
  if (forecast.queue.start.workers > 0) TellPlace(forecast.queue.start.placement, page);
}

// Tells how many workers the job is to have, and why, and how its spares are.
void TellSize(const TrainingJob& job, Json& page) {
  v1alpha1::TrainingJobSpec spec = job.spec;
  Default(spec);
  const std::string spares = DescribeSpares(spec, job.status);
  if (!spares.empty()) page["spares"] = spares;
  const SizeReason size = ExplainSize(spec, job.status);
  if (size.reason.empty()) return;
  page["size"] = {{"workers", size.workers}, {"reason", size.reason}, {"sentence", size.sentence}};
  const std::string resize = DescribeResize(job.status);
  if (!resize.empty()) page["size"]["resized"] = resize;
}

// Tells where along the axes of the mesh the ranks of each worker are while all workers train.
void TellMesh(v1alpha1::TrainingJobSpec spec, Json& page) {
  Default(spec);
  if (!spec.has_trainer()) return;
  const int workers = spec.workers().count(), ranks = planner::RanksOf(spec.workers());
  const v1alpha1::Mesh mesh = planner::LayOutRanks(spec.trainer().parallelism(), workers * ranks);
  for (Json& worker : page["workers"]) {
    const int64_t index = NumberField(worker, "index");
    const bool trains = index >= 0 && index < workers;  // the others are spares
    if (!trains) continue;
    const std::string places = planner::MeshText(mesh, static_cast<int>(index) * ranks, ranks);
    if (!places.empty()) worker["mesh"] = places;
  }
}

}  // namespace

absl::StatusOr<Json> PlacementPage(const WebDeps& deps, const kube::ObjectKey& key) {
  const JobCache::Object job = deps.jobs.Get(key);
  if (job == nullptr) return NoSuchJob(deps.jobs, key);
  const GangReport report = deps.scheduler.Explain(*job);
  Json json = ToJson(report);
  json["job"] = kube::ToString(key);
  TellSize(*job, json);
  TellMesh(job->spec, json);
  if (report.decision > 0) json["decision"] = report.decision;
  if (report.start) json["start"] = ToJson(*report.start, report.now);
  return json;
}

absl::StatusOr<Json> WhatIfPage(const Scheduler& scheduler, const std::string& manifest,
                                bool containers) {
  const absl::StatusOr<Json> json = ParseJson(manifest);
  if (!json.ok()) return absl::InvalidArgumentError("the body is not JSON");
  absl::StatusOr<TrainingJob> job = ParseTrainingJob(*json);
  if (!job.ok()) return absl::InvalidArgumentError(job.status().message());
  Default(job->spec);
  const FieldErrors errors = Validate(job->spec);
  if (!errors.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(errors.front().path, ": ", errors.front().message));
  }
  const absl::StatusOr<PodRecord> pod = PodOf(*job, containers);
  if (!pod.ok()) return absl::InvalidArgumentError(pod.status().message());
  const Scheduler::Forecast forecast = scheduler.WhatIf(*job, *pod);
  Json page = ToJson(forecast.report);
  page["job"] = kube::ToString({job->ns, job->name});
  TellForecast(forecast, page);
  TellMesh(job->spec, page);
  return page;
}

Json TopologyPage(const Scheduler& scheduler, int depth) { return ToJson(scheduler.Tree(depth)); }

}  // namespace muster::control
