#include "operator/runtime/verdicts.h"

#include <algorithm>
#include <utility>

#include "base/logging.h"
#include "operator/core/conditions.h"

namespace muster::control {
namespace {

// Between two sentences that differ in their numbers, and between two reasons.
constexpr absl::Duration kTellAgain = absl::Seconds(30);
constexpr absl::Duration kTellReason = absl::Seconds(5);
// Times in a status have milliseconds.
constexpr absl::Duration kTick = absl::Milliseconds(1);

absl::Time ToTick(absl::Time time) { return absl::FromUnixMillis(absl::ToUnixMillis(time)); }

}  // namespace

Verdicts::Verdicts(std::function<void(const std::string&)> on_change)
    : on_change_(std::move(on_change)) {}

bool Verdicts::IsNews(absl::Time now, const std::string& uid, Known& known,
                      const PlacementView& verdict) {
  known.next.reset();
  kept_back_.erase(uid);
  if (known.verdict == verdict) return false;
  if (!verdict.queued || !known.verdict.queued) return true;
  if (known.verdict.reason == verdict.reason) return now >= known.told_at + kTellAgain;
  if (now >= known.told_at + kTellReason) return true;
  known.next = verdict;
  return false;
}

void Verdicts::Tell(const std::string& key, const PlacementView& verdict) const {
  if (verdict.reason.empty()) {
    MUSTER_LOG(INFO, "gang placed", {"job", key}, {"level", verdict.level},
               {"domain", verdict.domain}, {"score", verdict.score});
  } else {
    MUSTER_LOG(INFO, "gang not placed", {"job", key}, {"reason", verdict.reason},
               {"sentence", verdict.sentence});
  }
  on_change_(key);
}

void Verdicts::Set(absl::Time now, const TrainingJob& job, PlacementView verdict) {
  const std::string key = kube::ToString({job.ns, job.name});
  {
    MutexLock lock(mu_);
    Known& known = known_[job.uid];
    verdict.order = known.verdict.order;
    if (!IsNews(now, job.uid, known, verdict)) {
      if (known.next) kept_back_[job.uid] = key;
      return;
    }
    known.verdict = verdict;
    known.told_at = now;
  }
  Tell(key, verdict);
}

void Verdicts::TellKeptBack(absl::Time now) {
  std::map<std::string, PlacementView> due;  // by key
  {
    MutexLock lock(mu_);
    std::erase_if(kept_back_, [&](const auto& entry) MUSTER_REQUIRES(mu_) {
      const auto found = known_.find(entry.first);
      if (found == known_.end() || !found->second.next) return true;
      Known& known = found->second;
      if (now < known.told_at + kTellReason) return false;
      known.next->order = known.verdict.order;
      known.verdict = *std::exchange(known.next, std::nullopt);
      known.told_at = now;
      due.emplace(entry.second, known.verdict);
      return true;
    });
  }
  for (const auto& [key, verdict] : due) Tell(key, verdict);
}

void Verdicts::Give(const TrainingJob& job, QueueOrder order, absl::Time wall) {
  const std::string key = kube::ToString({job.ns, job.name});
  order.time = std::max(ToTick(wall), ParseWall(job.status.preemption().time()) + kTick);
  MUSTER_LOG(INFO, "ordered by the queue", {"job", key}, {"workers", order.workers},
             {"reason", order.reason}, {"sentence", order.sentence});
  {
    MutexLock lock(mu_);
    std::optional<QueueOrder>& known = known_[job.uid].verdict.order;
    if (known) order.time = std::max(order.time, known->time + kTick);
    known = std::move(order);
  }
  on_change_(key);
}

PlacementView Verdicts::Of(const std::string& job_uid) const {
  MutexLock lock(mu_);
  const auto found = known_.find(job_uid);
  return found == known_.end() ? PlacementView{} : found->second.verdict;
}

std::optional<QueueOrder> Verdicts::PendingOrder(const TrainingJob& job) const {
  MutexLock lock(mu_);
  const auto found = known_.find(job.uid);
  if (found == known_.end() || !found->second.verdict.order) return std::nullopt;
  const QueueOrder& order = *found->second.verdict.order;
  if (order.time <= ParseWall(job.status.preemption().time())) return std::nullopt;
  return order;
}

void Verdicts::Forget(const JobCache& jobs) {
  MutexLock lock(mu_);
  if (known_.size() <= jobs.size()) return;
  absl::flat_hash_map<std::string, Known> kept;
  for (const JobCache::Object& job : jobs.List()) {
    auto node = known_.extract(job->uid);
    if (!node.empty()) kept.insert(std::move(node));
  }
  known_ = std::move(kept);
}

}  // namespace muster::control
