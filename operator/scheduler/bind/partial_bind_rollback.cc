#include "operator/scheduler/bind/partial_bind_rollback.h"

#include <algorithm>

#include "base/logging.h"
#include "operator/api/defaults.h"
#include "operator/core/state/conditions.h"

namespace muster::control {
namespace {

// Returns true if the gang is bound in part, has never run as it is, and is too small to run.
bool IsHalf(const Gang& gang, const TrainingJob& job, int confirmed) {
  if (gang.bound.empty()) return false;
  v1alpha1::TrainingJobSpec spec;
  *spec.mutable_workers() = job.spec.workers();
  Default(spec);
  if (confirmed >= spec.workers().min()) return false;
  const v1alpha1::Condition* running = FindCondition(job.status, ConditionType::kRunning);
  if (running == nullptr) return true;
  if (running->status() == "True") return false;
  const auto waiting = Name(Reason::kWaitingForWorkers);
  return job.status.progress().step() == 0 || running->reason() == waiting;
}

}  // namespace

bool PartialBindRollback::IsDue(absl::Time now, const Gang& gang, const JobCache::Object& job,
                                Look& look) const {
  const int confirmed =
      static_cast<int>(std::count_if(gang.bound.begin(), gang.bound.end(),
                                     [](const auto& entry) { return entry.second.confirmed; }));
  if (job == nullptr || !IsHalf(gang, *job, confirmed)) {
    look.partial_since = absl::InfiniteFuture();
    if (gang.unbound.empty() && confirmed == static_cast<int>(gang.bound.size())) {
      look.whole_version = gang.version;
    }
    return false;
  }
  const bool goes_on = look.partial_since == absl::InfiniteFuture() || confirmed > look.confirmed;
  look.confirmed = confirmed;
  if (goes_on) look.partial_since = now;
  if (now < look.partial_since + undo_after_) return false;
  look.partial_since = now;
  return true;
}

int PartialBindRollback::Undo(absl::Time now, const ClusterModel& model, const JobCache& jobs,
                              const Verdicts& verdicts, BindTracker& writes) {
  int undone = 0;
  std::erase_if(open_, [&](const std::string& uid) {
    const auto found = model.gangs().find(uid);
    if (found == model.gangs().end()) {
      looks_.erase(uid);
      return true;
    }
    ++count_;
    const Gang& gang = found->second;
    if (gang.bound.empty()) {
      looks_.erase(uid);
      return true;
    }
    Look& look = looks_[uid];
    if (look.whole_version == gang.version) return true;
    if (writes.in_flight(uid) > 0) return true;  // their outcomes will touch it
    JobCache::Object job = jobs.Get(gang.job);
    if (job != nullptr && job->uid != uid) job = nullptr;
    if (IsDue(now, gang, job, look)) {
      MUSTER_LOG(WARN, "a gang bound in part is undone", {"job", kube::ToString(gang.job)},
                 {"bound", look.confirmed}, {"reason", verdicts.Of(uid).sentence});
      writes.Undo(uid, gang);
      ++undone;
    }
    return look.partial_since == absl::InfiniteFuture();
  });
  return undone;
}

}  // namespace muster::control
