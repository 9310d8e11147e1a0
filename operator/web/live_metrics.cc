#include "operator/web/live_metrics.h"

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/process/process_figures.h"
#include "base/version.h"
#include "operator/core/state/conditions.h"
#include "operator/metrics/metric_catalog.h"
#include "operator/metrics/series.h"
#include "operator/placement/cluster/resource_amounts.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/placement.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/scheduler/gang/gang_placer.h"
#include "operator/scheduler/queue_sync/queue_report.h"
#include "operator/web/job_metrics.h"

namespace muster::control {
namespace {

using Families = std::vector<prometheus::MetricFamily>;

void AddOne(MetricId id, double value, Families& out) {
  out.push_back(FamilyBuilder(id).Add(value).Take());
}

void AddQueue(const WebDeps& deps, Families& out) {
  const WorkQueue::Stats stats = deps.queue.stats();
  out.push_back(FamilyBuilder(MetricId::kWorkQueueDepth)
                    .Add(static_cast<double>(stats.waiting), {"waiting"})
                    .Add(static_cast<double>(stats.delayed), {"delayed"})
                    .Add(static_cast<double>(stats.in_progress), {"in_progress"})
                    .Take());
  AddOne(MetricId::kQueueAdds, static_cast<double>(stats.adds), out);
  AddOne(MetricId::kQueueRetries, static_cast<double>(stats.retries), out);
  AddOne(MetricId::kQueueLongestRunning, absl::ToDoubleSeconds(stats.longest_running), out);
  AddOne(MetricId::kReconcilesActive, static_cast<double>(stats.in_progress), out);
}

void AddCaches(const WebDeps& deps, Families& out) {
  out.push_back(FamilyBuilder(MetricId::kCacheObjects)
                    .Add(static_cast<double>(deps.jobs.size()), {"trainingjobs"})
                    .Add(static_cast<double>(deps.pods.size()), {"pods"})
                    .Take());
  out.push_back(FamilyBuilder(MetricId::kCacheParseErrors)
                    .Add(static_cast<double>(deps.jobs.parse_errors()), {"trainingjobs"})
                    .Add(static_cast<double>(deps.pods.parse_errors()), {"pods"})
                    .Take());
}

void AddControl(const WebDeps& deps, Families& out) {
  const LeaderView leader = deps.leader ? deps.leader() : LeaderView{};
  AddOne(MetricId::kLeader, leader.leading ? 1 : 0, out);
  AddOne(MetricId::kAgentsAttached, deps.registry.attached(), out);
  FamilyBuilder refused(MetricId::kAgentsRefused);
  if (deps.refusals) {
    for (const auto& [reason, count] : deps.refusals()) {
      refused.Add(static_cast<double>(count), {reason});
    }
  }
  out.push_back(refused.Take());
  FamilyBuilder expiration(MetricId::kCertificateExpiration);
  if (deps.certificates) {
    for (const auto& [name, not_after] : deps.certificates()) {
      expiration.Add(static_cast<double>(absl::ToUnixSeconds(not_after)), {name});
    }
  }
  out.push_back(expiration.Take());
  AddOne(MetricId::kSavesWaiting, deps.controller.SavesWaiting(), out);
  AddOne(MetricId::kPodsBound, static_cast<double>(deps.scheduler.binds()), out);
  AddOne(MetricId::kGangsUndone, static_cast<double>(deps.scheduler.undone()), out);
  AddOne(MetricId::kTopologyFindings, static_cast<double>(deps.scheduler.TopologyFindings().size()),
         out);
  FamilyBuilder faulty(MetricId::kNodesFaulty);
  const std::map<NodeFault, int64_t> faults = deps.scheduler.NodeFaults();
  for (int i = 0; i < kNodeFaults; ++i) {
    const auto found = faults.find(static_cast<NodeFault>(i));
    const int64_t count = found == faults.end() ? 0 : found->second;
    faulty.Add(static_cast<double>(count), {std::string(Name(static_cast<NodeFault>(i)))});
  }
  out.push_back(faulty.Take());
}

void AddQueues(const WebDeps& deps, Families& out) {
  FamilyBuilder decisions(MetricId::kQueueDecisions);
  const std::map<std::string, int64_t> counts = deps.scheduler.decisions();
  for (const char* action : {"Start", "Shrink", "Stop", "Grow"}) {
    const auto found = counts.find(action);
    decisions.Add(found == counts.end() ? 0 : static_cast<double>(found->second), {action});
  }
  FamilyBuilder jobs(MetricId::kTrainingQueueJobs);
  FamilyBuilder share(MetricId::kQueueShare);
  FamilyBuilder gpus(MetricId::kQueueUsed);
  size_t shown = 0;
  for (const QueueReport& report : deps.scheduler.Queues(0)) {
    if (++shown > kMaxQueueSeries) break;
    const QueueBook::QueueView& queue = report.queue;
    jobs.Add(static_cast<double>(queue.waiting), {queue.name, "waiting"});
    jobs.Add(static_cast<double>(queue.running), {queue.name, "running"});
    share.Add(queue.share, {queue.name});
    int64_t used = 0;
    for (const auto& [resource, amount] : queue.used) used += IsGpuResource(resource) ? amount : 0;
    gpus.Add(static_cast<double>(used), {queue.name});
  }
  for (FamilyBuilder* family : {&decisions, &jobs, &share, &gpus}) out.push_back(family->Take());
}

void AddPlacements(const WebDeps& deps, Families& out) {
  FamilyBuilder score(MetricId::kPlacementScore);
  std::map<std::string, int> unplaced;
  for (int i = 0; i < kUnplaceableReasons; ++i) {
    unplaced[absl::StrCat(Name(static_cast<UnplaceableReason>(i)))] = 0;
  }
  unplaced[kConstraintsReason] = 0;
  unplaced[std::string(Name(ScheduleReason::kFitsNowhere))] = 0;
  size_t shown = 0;
  for (const JobCache::Object& job : deps.jobs.List()) {
    if (IsFinished(job->status)) continue;
    const v1alpha1::PlacementStatus& placement = job->status.placement();
    const auto reason = unplaced.find(placement.reason());
    if (reason != unplaced.end()) ++reason->second;
    if (!placement.has_score() || shown == kMaxJobSeries) continue;
    ++shown;
    score.Add(placement.score(), {absl::StrCat(job->ns, "/", job->name)});
  }
  FamilyBuilder jobs(MetricId::kJobsUnplaced);
  for (const auto& [reason, count] : unplaced) jobs.Add(count, {reason});
  out.push_back(jobs.Take());
  out.push_back(score.Take());
}

void AddCapacity(const WebDeps& deps, Families& out) {
  const CapacityReport capacity = deps.scheduler.Capacity();
  FamilyBuilder nodes(MetricId::kNodes);
  for (const auto& [state, count] : capacity.nodes) nodes.Add(static_cast<double>(count), {state});
  out.push_back(nodes.Take());
  out.push_back(FamilyBuilder(MetricId::kGpus)
                    .Add(static_cast<double>(capacity.gpus_used), {"Used"})
                    .Add(static_cast<double>(capacity.gpus_free), {"Free"})
                    .Add(static_cast<double>(capacity.gpus_fragmented), {"Fragmented"})
                    .Add(static_cast<double>(capacity.gpus_closed), {"Closed"})
                    .Take());
}

void AddProcess(Families& out) {
  out.push_back(FamilyBuilder(MetricId::kBuildInfo).Add(1, {kVersion}).Take());
  const ProcessFigures process = ReadProcessFigures();
  AddOne(MetricId::kProcessCpu, process.cpu_seconds, out);
  AddOne(MetricId::kProcessResident, static_cast<double>(process.resident_bytes), out);
  AddOne(MetricId::kProcessVirtual, static_cast<double>(process.virtual_bytes), out);
  AddOne(MetricId::kProcessOpenFds, static_cast<double>(process.open_fds), out);
  AddOne(MetricId::kProcessMaxFds, static_cast<double>(process.max_fds), out);
  AddOne(MetricId::kProcessStartTime, process.start_time, out);
  AddOne(MetricId::kProcessThreads, static_cast<double>(process.threads), out);
}

}  // namespace

std::vector<prometheus::MetricFamily> CollectMetrics(const WebDeps& deps) {
  Families families = deps.metrics.Collect();
  AddQueue(deps, families);
  AddCaches(deps, families);
  AddControl(deps, families);
  AddQueues(deps, families);
  AddPlacements(deps, families);
  AddCapacity(deps, families);
  AddJobMetrics(deps, families);
  AddProcess(families);
  return families;
}

}  // namespace muster::control
