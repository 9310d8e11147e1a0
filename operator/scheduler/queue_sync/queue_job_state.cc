#include "operator/scheduler/queue_sync/queue_job_state.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "operator/core/state/conditions.h"
#include "operator/core/state/growth_sizes.h"
#include "operator/core/state/spec_values.h"
#include "operator/placement/complete_gang.h"
#include "operator/queue/book/quota_amounts.h"
#include "operator/scheduler/gang/gang_request.h"

namespace muster::control {
namespace {

// Returns what a worker counts for: each kind of GPU that its job's nodes have or, as long as none
// of the nodes is known, each kind that it may get.
Amounts CountedOn(const std::vector<std::string>& nodes, const SchedulingPod& pod,
                  const ClusterModel& model) {
  bool known = false;
  GpuKindSet kinds;
  for (const std::string& name : nodes) {
    const NodeRecord* node = model.FindNode(name);
    if (node == nullptr) continue;
    known = true;
    const std::string kind = GpuKindOf(*node->scheduling);
    if (!kind.empty()) kinds.insert(kind);
  }
  return QuotaOf(pod, known ? kinds : GpuKindsFor(pod.wants(), model.gpu_kinds()));
}

// Makes the part that is the same for running and waiting jobs.
QueuedJob Base(const QueueJobState& standing, const PodRecord& pod) {
  const TrainingJob& job = *standing.job;
  QueuedJob queued;
  queued.uid = job.uid;
  queued.ns = job.ns;
  queued.name = job.name;
  queued.queue = standing.spec.queue();
  queued.created = job.creation_time.value_or(absl::UnixEpoch());
  queued.request.job = kube::ToString(standing.key);
  queued.request.per_worker = pod.requests;
  const absl::Duration deadline = ActiveDeadline(standing.spec);
  if (deadline < absl::InfiniteDuration()) {
    const absl::Duration ran = absl::Seconds(job.status.active_seconds());
    queued.runtime = std::max(absl::ZeroDuration(), deadline - ran);
  }
  return queued;
}

const PodRecord& PodOf(const Gang& gang) {
  return gang.unbound.empty() ? *gang.bound.begin()->second.pod : *gang.unbound.begin()->second;
}

QueuedJob OfGang(const QueueJobState& standing, const Gang& gang) {
  const PodRecord& pod = PodOf(gang);
  QueuedJob queued = Base(standing, pod);
  queued.request = RequestInWholeSlices(MakeGangRequest(*standing.job, standing.spec, gang));
  if (gang.unbound.empty()) queued.request.per_worker = pod.requests;
  return queued;
}

// Returns how many spares train in the place of workers within workers.count that have no node: the
// job does not yield those.
int SparesThatTrain(const QueueJobState& standing, const std::vector<std::string>& nodes) {
  const int count = WorkerCount(standing.spec);
  const int beyond = static_cast<int>(nodes.size()) - count;
  if (SpareCount(standing.spec) == 0 || beyond <= 0) return 0;
  const auto without = std::count(nodes.begin(), nodes.begin() + count, "");
  const int ended = count - OpenWorkers(standing, count);
  return std::clamp(static_cast<int>(without) - ended, 0, beyond);
}

}  // namespace

std::optional<int> LimitOf(const QueueJobState& standing,
                           const std::optional<QueueOrder>& pending) {
  if (pending) return pending->workers;
  const v1alpha1::TrainingJobStatus& status = standing.job->status;
  if (status.preemption().has_workers()) return status.preemption().workers();
  if (standing.larger_sizes.empty()) return std::nullopt;
  return std::max(WorkerCount(standing.spec),
                  LargestUpTo(standing.larger_sizes, status.elastic().workers()));
}

bool IsNotQueued(const QueueJobState& standing) {
  return standing.job == nullptr || standing.job->deleting() || IsFinished(standing.job->status) ||
         standing.spec.suspend() || IsManagedByAnother(standing.spec);
}

int WantedWorkers(const QueueJobState& standing) {
  const int count = WorkerCount(standing.spec);
  const int most = standing.larger_sizes.empty() ? count : standing.larger_sizes.back();
  return standing.limit.value_or(0) > 0 ? std::min(most, *standing.limit) : count;
}

int OpenWorkers(const QueueJobState& standing, int workers) {
  const auto above = standing.ended.lower_bound(workers);
  return workers - static_cast<int>(std::distance(standing.ended.begin(), above));
}

bool IsWhole(const QueueJobState& standing, const Gang& gang) {
  const int open = OpenWorkers(standing, WantedWorkers(standing));
  return gang.bound.empty() && static_cast<int>(gang.unbound.size()) >= open;
}

QueuedJob MakeWaiting(const QueueJobState& standing, const Gang& gang, const ClusterModel& model) {
  QueuedJob queued = OfGang(standing, gang);
  queued.quota_per_worker = CountedOn({}, *PodOf(gang).scheduling, model);
  return queued;
}

QueuedJob MakeRunning(const QueueJobState& standing, const Gang* gang,
                      const NodeHolders::Pods& holders, const ClusterModel& model) {
  static const Gang* const kNone = new Gang;
  QueuedJob queued = gang == nullptr ? standing.queued : OfGang(standing, *gang);
  std::set<kube::ObjectKey> staying;
  int workers = standing.limit ? std::min(standing.entitled, *standing.limit) : standing.entitled;
  const auto& bound_pods = (gang == nullptr ? *kNone : *gang).bound;
  for (const auto& [place, bound] : bound_pods) {
    workers = std::max(workers, place.first + 1);
    staying.insert(bound.pod->key);
  }
  queued.nodes.assign(std::max(workers, 1), "");
  for (const auto& [place, bound] : bound_pods) queued.nodes[place.first] = bound.node;
  const int requested = RequestedSize(standing.spec, standing.job->status);
  queued.request.max = std::max(requested, 1) + SparesThatTrain(standing, queued.nodes);
  queued.leaving = standing.limit ? std::max(0, workers - *standing.limit) : 0;
  for (const auto& [key, pod] : holders) {
    if (staying.count(key) > 0) continue;
    queued.nodes.push_back(pod->view->node);
    ++queued.leaving;
  }
  if (gang != nullptr) {
    queued.quota_per_worker = CountedOn(queued.nodes, *PodOf(*gang).scheduling, model);
  }
  queued.request.min = std::min(MinWorkers(standing.spec), queued.request.max);
  queued.larger_sizes = standing.offered_sizes;
  queued.started = standing.started;
  queued.ends = EndOf(standing);
  queued.checkpointed = CheckpointOf(standing);
  return queued;
}

QueuedJob MakeLeaving(const QueueJobState& standing, const NodeHolders::Pods& holders,
                      const ClusterModel& model) {
  const PodRecord& pod = *holders.begin()->second;
  QueuedJob queued = standing.queued;
  if (queued.uid.empty()) queued = Base(standing, pod);
  queued.nodes.clear();
  for (const auto& [key, holder] : holders) queued.nodes.push_back(holder->view->node);
  queued.quota_per_worker = CountedOn(queued.nodes, *pod.scheduling, model);
  queued.leaving = queued.workers();
  return queued;
}

Gang WorkersBelow(const Gang& gang, int workers) {
  Gang below = gang;
  std::erase_if(below.unbound,
                [workers](const auto& entry) { return entry.first.first >= workers; });
  return below;
}

std::optional<absl::Time> EndOf(const QueueJobState& standing) {
  const v1alpha1::TrainingJobStatus& status = standing.job->status;
  absl::Time end = absl::InfiniteFuture();
  const absl::Duration deadline = ActiveDeadline(standing.spec);
  if (deadline < absl::InfiniteDuration()) {
    const absl::Time from = ParseWall(status.active_since());
    end = (from == absl::InfinitePast() ? standing.started : from) + deadline -
          absl::Seconds(status.active_seconds());
  }
  const absl::Time measured = ParseWall(status.progress().time());
  absl::Duration left;
  const bool has_eta = !status.progress().eta().empty() && measured > absl::InfinitePast() &&
                       absl::ParseDuration(status.progress().eta(), &left);
  if (has_eta) end = std::min(end, measured + left);
  if (end == absl::InfiniteFuture()) return std::nullopt;
  return end;
}

absl::Time CheckpointOf(const QueueJobState& standing) {
  return std::max(standing.started, ParseWall(standing.job->status.checkpoint().time()));
}

}  // namespace muster::control
