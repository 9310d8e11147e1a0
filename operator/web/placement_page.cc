#include "operator/web/placement_page.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "operator/api/defaults.h"
#include "operator/api/training_job.h"
#include "operator/api/validation.h"
#include "operator/core/gang.h"
#include "operator/core/plan.h"
#include "operator/runtime/object_records.h"
#include "operator/runtime/pod_builder.h"
#include "operator/runtime/scheduler.h"

namespace muster::control {
namespace {

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
  return {{"workers", request.max},
          {"min", request.min},
          {"perWorker", ToJson(request.per_worker)},
          {"require", request.required_level},
          {"prefer", request.preferred_level},
          {"slices", std::move(slices)}};
}

Json ToJson(const GangReport& report) {
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
          {"nodesLeftOut", report.left_out}};
}

Json ToJson(const DomainReport& domain) {
  Json json = {{"level", domain.level},
               {"name", domain.name},
               {"nodes", domain.nodes},
               {"usable", domain.usable},
               {"allocatable", ToJson(domain.allocatable)},
               {"free", ToJson(domain.free)}};
  if (domain.children.empty()) return json;
  Json& children = json["children"] = Json::array();
  for (const DomainReport& child : domain.children) children.push_back(ToJson(child));
  return json;
}

// What a worker of it would be, as the cache would show it.
absl::StatusOr<PodRecord> PodOf(const TrainingJob& job) {
  CreatePod create;
  create.name = absl::StrCat(job.name, "-0-1");
  create.labels = {{kJobLabel, job.name}};
  create.ranks = std::max(1, job.spec.workers().gpus());
  create.gpus = job.spec.workers().gpus();
  const absl::StatusOr<Json> pod = BuildPod(job, create, PodBuilderOptions{});
  if (!pod.ok()) return pod.status();
  return ParsePodRecord(*pod);
}

}  // namespace

absl::StatusOr<Json> PlacementPage(const WebDeps& deps, const kube::ObjectKey& key) {
  const JobCache::Object job = deps.jobs.Get(key);
  if (job == nullptr) return absl::NotFoundError(absl::StrCat("no job ", kube::ToString(key)));
  const GangReport report = deps.scheduler.Explain(*job);
  Json json = ToJson(report);
  json["job"] = kube::ToString(key);
  if (report.decision > 0) json["decision"] = report.decision;
  return json;
}

absl::StatusOr<Json> WhatIfPage(const WebDeps& deps, const std::string& manifest) {
  const absl::StatusOr<Json> json = ParseJson(manifest);
  if (!json.ok()) return absl::InvalidArgumentError("the body is no JSON");
  absl::StatusOr<TrainingJob> job = ParseTrainingJob(*json);
  if (!job.ok()) return absl::InvalidArgumentError(job.status().message());
  Default(job->spec);
  const FieldErrors errors = Validate(job->spec);
  if (!errors.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(errors.front().path, ": ", errors.front().message));
  }
  const absl::StatusOr<PodRecord> pod = PodOf(*job);
  if (!pod.ok()) return absl::InvalidArgumentError(pod.status().message());
  const Scheduler::Forecast forecast = deps.scheduler.WhatIf(*job, *pod);
  Json page = ToJson(forecast.report);
  page["job"] = kube::ToString({job->ns, job->name});
  if (const auto* no = std::get_if<Scheduler::Refusal>(&forecast.answer)) {
    page["reason"] = no->reason;
    page["sentence"] = no->sentence;
    return page;
  }
  const Completion& placed = std::get<Completion>(forecast.answer);
  page["score"] = placed.gang.score;
  page["level"] = placed.gang.level;
  page["domain"] = placed.gang.domain;
  for (const auto& [worker, node] : placed.nodes) {
    page["workers"].push_back({{"index", worker}, {"node", node}});
  }
  return page;
}

Json TopologyPage(const WebDeps& deps, int depth) { return ToJson(deps.scheduler.Tree(depth)); }

}  // namespace muster::control
