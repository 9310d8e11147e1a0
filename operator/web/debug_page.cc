#include "operator/web/debug_page.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/objects/object_records.h"
#include "operator/reconcile/work_queue.h"
#include "operator/web/encode.h"

namespace muster::control {
namespace {

// Summarises a job, without its individual agents.
Json InShort(const WebDeps& deps, const JobDebug& debug) {
  Json json = ToJson(debug);
  int known = 0;
  int attached = 0;
  for (const AgentState& agent : deps.registry.Agents(debug.uid)) {
    ++known;
    attached += agent.attached ? 1 : 0;
  }
  json["agents"] = {{"known", known}, {"attached", attached}};
  const PlacementView verdict = deps.scheduler.verdicts().Of(debug.uid);
  if (!verdict.reason.empty()) {
    json["placement"] = {{"reason", verdict.reason}, {"sentence", verdict.sentence}};
  }
  return json;
}

Json InFull(const WebDeps& deps, const JobDebug& debug) {
  Json json = InShort(deps, debug);
  Json agents = Json::array();
  for (const AgentState& agent : deps.registry.Agents(debug.uid)) agents.push_back(ToJson(agent));
  json["agents"] = std::move(agents);
  json["members"] = debug.members;
  Json pods = Json::array();
  for (const PodCache::Object& pod : deps.pods.ListByOwner(debug.uid)) {
    if (debug.key == kube::ToString({pod->key.name_space, pod->job}) &&
        pod->view->owner_uid == debug.uid) {
      pods.push_back(ToJson(*pod));
    }
  }
  json["pods"] = std::move(pods);
  return json;
}

Json Leader(const WebDeps& deps) {
  const LeaderView leader = deps.leader ? deps.leader() : LeaderView{};
  return {{"leading", leader.leading},
          {"identity", leader.identity},
          {"holder", leader.holder},
          {"leaseTerm", leader.lease_term},
          {"lost", leader.lost}};
}

Json Nodes(const WebDeps& deps) {
  int schedulable = 0;
  int tainted = 0;
  for (const NodeCache::Object& node : deps.nodes.List()) {
    schedulable += node->schedulable ? 1 : 0;
    tainted += node->taints.empty() ? 0 : 1;
  }
  return {{"objects", deps.nodes.size()},
          {"version", deps.nodes.LatestVersion()},
          {"schedulable", schedulable},
          {"tainted", tainted}};
}

Json Caches(const WebDeps& deps) {
  return {{"synced", !deps.ready || deps.ready()},
          {"jobs", {{"objects", deps.jobs.size()}, {"version", deps.jobs.LatestVersion()}}},
          {"pods", {{"objects", deps.pods.size()}, {"version", deps.pods.LatestVersion()}}},
          {"nodes", Nodes(deps)}};
}

Json ToJson(const WorkQueue::KeyState& state) {
  return {{"key", state.key},
          {"state", state.state},
          {"seconds", absl::ToDoubleSeconds(state.time)},
          {"failures", state.failures},
          {"again", state.again}};
}

Json Queue(const WebDeps& deps) {
  Json keys = Json::array();
  for (const auto& state : deps.queue.Keys(kMaxDebugKeys)) keys.push_back(ToJson(state));
  const WorkQueue::Stats queue = deps.queue.stats();
  return {{"waiting", queue.waiting},
          {"delayed", queue.delayed},
          {"inProgress", queue.in_progress},
          {"longestRunningSeconds", absl::ToDoubleSeconds(queue.longest_running)},
          {"adds", queue.adds},
          {"retries", queue.retries},
          {"keys", std::move(keys)}};
}

}  // namespace

absl::StatusOr<Json> DebugPage(const WebDeps& deps, const DebugQuery& query) {
  Json page = {{"leader", Leader(deps)},
               {"queue", Queue(deps)},
               {"caches", Caches(deps)},
               {"attached", deps.registry.attached()}};
  const std::vector<JobDebug> all = deps.controller.Debug();  // by key
  page["jobsKnown"] = all.size();
  if (!query.job.empty()) {
    const auto job = std::find_if(all.begin(), all.end(),
                                  [&](const JobDebug& debug) { return debug.key == query.job; });
    if (job == all.end()) {
      return absl::NotFoundError(
          absl::StrCat("no decision about a job ", query.job, " was made here"));
    }
    page["job"] = InFull(deps, *job);
    const auto queued = deps.queue.Find(query.job);
    page["job"]["queue"] = queued ? ToJson(*queued) : Json(nullptr);
    return page;
  }
  const auto limit = static_cast<size_t>(std::clamp<int64_t>(query.limit, 1, kMaxDebugJobs));
  Json jobs = Json::array();
  for (const JobDebug& debug : all) {
    if (debug.key <= query.after) continue;
    if (jobs.size() == limit) {
      page["next"] = jobs.back()["key"];
      break;
    }
    jobs.push_back(InShort(deps, debug));
  }
  page["jobs"] = std::move(jobs);
  return page;
}

}  // namespace muster::control
