#include "operator/scheduler/queue_sync/queue_sync.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "operator/api/defaults.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/growth_sizes.h"
#include "operator/core/state/index_ranges.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

using State = QueueJobState::State;

// Returns the time since which a job that was found running has had its nodes.
absl::Time StartOf(const TrainingJob& job, absl::Time now) {
  const v1alpha1::Condition* scheduled = FindCondition(job.status, ConditionType::kScheduled);
  const absl::Time since = scheduled == nullptr || scheduled->status() != "True"
                               ? absl::InfinitePast()
                               : ParseWall(scheduled->last_transition_time());
  return since == absl::InfinitePast() ? now : since;
}

// Returns how long a job that a new leader finds had run before it came to wait.
absl::Duration RanOf(const TrainingJob& job) { return absl::Seconds(job.status.active_seconds()); }

}  // namespace

QueueSync::QueueSync(const World& world, const BookOptions& options)
    : world_(world), book_(options) {}

void QueueSync::SetQueues(absl::Time now, const std::vector<QueueSpec>& queues) {
  has_queues_ = !queues.empty();
  book_.SetQueues(now, queues);
  for (const auto& [uid, standing] : standings_) {
    if (standing.state == State::kWaiting) fresh_.insert(uid);
  }
  changed_ = true;
  marked_at_ = 0;
}

void QueueSync::MarkUnplaceableJobs(WholeNodes& nodes) {
  std::set<std::string> unmarked = std::exchange(unmarked_, {});
  if (std::exchange(marked_at_, nodes.version()) != nodes.version()) {
    for (const auto& [uid, standing] : standings_) {
      if (standing.state == State::kWaiting) unmarked.insert(uid);
    }
  }
  for (const std::string& uid : unmarked) {
    const auto known = standings_.find(uid);
    const auto gang = world_.model.gangs().find(uid);
    const bool waits = known != standings_.end() && known->second.state == State::kWaiting;
    if (!waits || gang == world_.model.gangs().end() || gang->second.unbound.empty()) continue;
    QueueJobState& standing = known->second;
    const SchedulingPod& pod = *gang->second.unbound.begin()->second->scheduling;
    const GangRequest& request = standing.queued.request;
    if (standing.shape.empty()) standing.shape = WholeNodes::ShapeOf(request, pod);
    book_.SetFitsNowhere(uid, has_queues_ && nodes.FitsNowhere(standing.shape, request, pod));
  }
}

void QueueSync::LookAgain(const std::string& uid) {
  QueueJobState& standing = standings_.at(uid);
  standing.stale = true;
  Touch(uid, standing.key);
}

void QueueSync::SetPriorities(const PriorityCache& classes) {
  priorities_.Set(classes);
  for (const auto& [uid, standing] : standings_) LookAgain(uid);
}

// Has jobs looked at again if the GPU kinds of nodes changed: running ones count for the kinds that
// they have, waiting ones for those that they may get.
void QueueSync::FollowKinds() {
  const uint64_t changes = world_.model.gpu_kind_changes();
  if (std::exchange(kind_changes_, changes) == changes) return;
  const bool same_kinds = kinds_ == world_.model.gpu_kinds();
  kinds_ = world_.model.gpu_kinds();
  for (const auto& [uid, standing] : standings_) {
    const bool waits = standing.state == State::kWaiting;
    if (standing.state != State::kOut && !(waits && same_kinds)) LookAgain(uid);
  }
}

void QueueSync::SetCapacity(const Amounts& capacity) { book_.SetCapacity(capacity); }

void QueueSync::Touch(const std::string& uid) {
  const auto known = standings_.find(uid);
  if (known != standings_.end()) Touch(uid, known->second.key);
}

void QueueSync::Update(absl::Time now) {
  FollowKinds();
  for (const auto& [uid, key] : std::exchange(touched_, {})) Look(now, uid, key);
}

void QueueSync::Read(QueueJobState& standing, const JobCache::Object& job) const {
  const bool same = standing.job != nullptr && job != nullptr &&
                    standing.job->generation == job->generation && !standing.stale;
  standing.job = job;
  if (job == nullptr || same) return;
  const v1alpha1::TrainingJobSpec& spec = job->spec;
  standing.spec.Clear();
  *standing.spec.mutable_workers() = spec.workers();
  if (spec.has_topology()) *standing.spec.mutable_topology() = spec.topology();
  if (spec.has_spot()) *standing.spec.mutable_spot() = spec.spot();
  if (FormsByMultiples(spec)) {
    // The smallest round of the job depends on it.
    *standing.spec.mutable_trainer()->mutable_parallelism() = spec.trainer().parallelism();
  }
  if (spec.has_queue()) standing.spec.set_queue(spec.queue());
  if (spec.has_priority_class_name()) {
    standing.spec.set_priority_class_name(spec.priority_class_name());
  }
  if (spec.has_active_deadline()) standing.spec.set_active_deadline(spec.active_deadline());
  if (spec.has_managed_by()) standing.spec.set_managed_by(spec.managed_by());
  standing.spec.set_suspend(spec.suspend());
  Default(standing.spec);
  standing.larger_sizes.clear();
  if (!MayHaveMore(spec)) return;
  v1alpha1::TrainingJobSpec whole = spec;
  Default(whole);
  standing.larger_sizes = LargerSizes(whole);
}

void QueueSync::Put(absl::Time now, QueueJobState& standing, QueuedJob job) {
  if (standing.job != nullptr) {
    const PriorityClass priority = priorities_.Of(standing.spec.priority_class_name());
    job.priority = priority.value;
    job.preempts = priority.preempts;
  }
  if (!job.running()) NoteRan(now, job.uid, standing);
  job.ran = standing.ran;
  standing.queued = job;
  standing.shape.clear();
  if (!job.running()) unmarked_.insert(job.uid);
  const QueuedJob* known = book_.Find(job.uid);
  const bool recounted = known != nullptr && known->running() && job.running() &&
                         known->quota_per_worker != job.quota_per_worker;
  recounted_ = recounted_ || (recounted && has_queues_);
  const bool same = known != nullptr && job.running() && !recounted && known->nodes == job.nodes &&
                    known->leaving == job.leaving && known->queue == job.queue &&
                    known->priority == job.priority && known->request.max == job.request.max &&
                    known->request.min == job.request.min &&
                    known->larger_sizes == job.larger_sizes;
  if (same) {
    // Its pods changed, perhaps those that it would grow by.
    changed_ = changed_ || job.workers() < job.request.max || !job.larger_sizes.empty();
    return book_.Progress(job.uid, job.checkpointed, job.ends);
  }
  book_.Upsert(now, std::move(job));
  changed_ = true;
}

void QueueSync::NoteRan(absl::Time now, const std::string& uid, QueueJobState& standing) const {
  const QueuedJob* known = book_.Find(uid);
  if (known != nullptr) standing.ran = RanBy(*known, now);
}

void QueueSync::Leave(absl::Time now, const std::string& uid, QueueJobState& standing) {
  standing.entitled = 0;
  const NodeHolders::Pods& holders = world_.holders.Of(uid);
  if (!holders.empty() && (standing.job != nullptr || !standing.queued.uid.empty())) {
    standing.state = State::kLeaving;
    QueuedJob leaving = MakeLeaving(standing, holders, world_.model);
    // The job was already leaving when it was first seen: its start is unknown.
    if (leaving.started == absl::UnixEpoch()) leaving.started = now;
    return Put(now, standing, std::move(leaving));
  }
  standing.state = State::kOut;
  NoteRan(now, uid, standing);
  if (book_.Remove(now, uid)) changed_ = true;
}

bool QueueSync::Refresh(const std::string& uid, const Gang* gang, QueueJobState& standing) const {
  const JobCache::Object& job = standing.job;
  const std::optional<int> limit =
      job == nullptr ? std::nullopt : LimitOf(standing, world_.verdicts.PendingOrder(*job));
  const int requested = job == nullptr ? 0 : RequestedSize(standing.spec, job->status);
  std::vector<int> offered;
  if (job != nullptr) offered = OfferedSizes(standing.larger_sizes, job->status);
  const uint64_t version = gang == nullptr ? 0 : gang->version;
  const int64_t generation = job == nullptr ? -1 : job->generation;
  const size_t holders = world_.holders.Of(uid).size();
  const double active_seconds = job == nullptr ? 0 : job->status.active_seconds();
  std::set<int> ended;
  if (job != nullptr) {
    ended = ParseIndices(job->status.workers().ended(), job->status.incarnations_size());
  }
  const bool same = !standing.stale && standing.gang_version == version &&
                    standing.generation == generation && standing.limit == limit &&
                    standing.active_seconds == active_seconds && standing.ended == ended &&
                    standing.holders == holders && standing.offered_sizes == offered &&
                    standing.requested == requested && !IsNotQueued(standing);
  standing.active_seconds = active_seconds;
  standing.ended = std::move(ended);
  standing.offered_sizes = std::move(offered);
  standing.gang_version = version;
  standing.generation = generation;
  standing.limit = limit;
  standing.requested = requested;
  standing.holders = holders;
  standing.stale = false;
  return !same;
}

void QueueSync::UpdateEntry(absl::Time now, const std::string& uid, const Gang* gang,
                            QueueJobState& standing) {
  const bool stops = standing.limit && *standing.limit == 0;
  if (IsNotQueued(standing) || stops) return Leave(now, uid, standing);
  const bool has_nodes = gang != nullptr && !gang->bound.empty();
  if (has_nodes || standing.entitled > 0) {
    if (standing.entitled == 0) standing.started = StartOf(*standing.job, now);
    standing.entitled = std::min(standing.entitled, WantedWorkers(standing));
    if (gang != nullptr) {
      for (const auto& [place, bound] : gang->bound) {
        standing.entitled = std::max(standing.entitled, place.first + 1);
      }
    }
    standing.state = State::kRunning;
    return Put(now, standing, MakeRunning(standing, gang, world_.holders.Of(uid), world_.model));
  }
  if (gang == nullptr || !IsWhole(standing, *gang)) return Leave(now, uid, standing);
  standing.state = State::kWaiting;
  Put(now, standing, MakeWaiting(standing, *gang, world_.model));
}

void QueueSync::Index(const std::string& uid, State before, State state) {
  if (state == State::kRunning && world_.model.waiting().count(uid) > 0) {
    incomplete_.insert(uid);
  } else {
    incomplete_.erase(uid);
  }
  if (state == before) return;
  fresh_.erase(uid);
  if (state == State::kWaiting) fresh_.insert(uid);
}

void QueueSync::Look(absl::Time now, const std::string& uid, const kube::ObjectKey& key) {
  JobCache::Object job = world_.jobs.Get(key);
  if (job != nullptr && job->uid != uid) job = nullptr;
  auto known = standings_.find(uid);
  if (known == standings_.end()) {
    if (job == nullptr) return;
    known = standings_.emplace(uid, QueueJobState{}).first;
    known->second.ran = RanOf(*job);
  }
  QueueJobState& standing = known->second;
  standing.key = key;
  Read(standing, job);
  const auto found = world_.model.gangs().find(uid);
  const Gang* gang = found == world_.model.gangs().end() ? nullptr : &found->second;
  const State before = standing.state;
  if (Refresh(uid, gang, standing)) {
    UpdateEntry(now, uid, gang, standing);
  } else if (standing.state == State::kRunning) {
    book_.Progress(uid, CheckpointOf(standing), EndOf(standing));
  }
  Index(uid, before, standing.state);
  if (standing.job == nullptr && standing.state == State::kOut) standings_.erase(known);
}

void QueueSync::Entitle(const std::string& uid, int workers, absl::Time now) {
  QueueJobState& standing = standings_.at(uid);
  if (standing.entitled == 0) standing.started = now;
  standing.entitled = workers;
  LookAgain(uid);
}

void QueueSync::Demote(const std::string& uid) {
  standings_.at(uid).entitled = 0;
  LookAgain(uid);
}

const QueueJobState* QueueSync::Find(const std::string& uid) const {
  const auto found = standings_.find(uid);
  return found == standings_.end() ? nullptr : &found->second;
}

}  // namespace muster::control
