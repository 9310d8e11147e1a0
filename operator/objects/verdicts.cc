#include "operator/objects/verdicts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "operator/core/state/conditions.h"

namespace muster::control {
namespace {

// Least intervals between sentences that differ in their numbers only, and between two reasons.
constexpr absl::Duration kSameReasonInterval = absl::Seconds(30);
constexpr absl::Duration kOtherReasonInterval = absl::Seconds(5);
// Times in a status have a resolution of milliseconds.
constexpr absl::Duration kTick = absl::Milliseconds(1);

absl::Time ToTick(absl::Time time) { return absl::FromUnixMillis(absl::ToUnixMillis(time)); }

}  // namespace

Verdicts::Verdicts(std::function<void(const std::string&)> on_change)
    : on_change_(std::move(on_change)) {}

Verdicts::News Verdicts::ClassifyNews(absl::Time now, const Known& known,
                                      const PlacementView& verdict) {
  if (known.verdict == verdict) return News::kNone;
  if (!verdict.queued || !known.verdict.queued) return News::kNow;
  const bool only_numbers = known.verdict.reason == verdict.reason;
  if (now >= known.published_at + (only_numbers ? kSameReasonInterval : kOtherReasonInterval))
    return News::kNow;
  return only_numbers ? News::kNone : News::kLater;
}

void Verdicts::Publish(const std::string& key, const PlacementView& verdict) const {
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
    delayed_.erase(job.uid);
    const News news = ClassifyNews(now, known, verdict);
    if (news == News::kLater) delayed_[job.uid] = {key, std::move(verdict)};
    if (news != News::kNow) return;
    known = {verdict, now};
  }
  Publish(key, verdict);
}

void Verdicts::PublishDelayed(absl::Time now) {
  std::vector<Delayed> due;
  {
    MutexLock lock(mu_);
    for (auto it = delayed_.begin(); it != delayed_.end();) {
      const auto found = known_.find(it->first);
      if (found != known_.end() && now < found->second.published_at + kOtherReasonInterval) {
        ++it;
        continue;
      }
      Delayed one = std::move(delayed_.extract(it++).mapped());
      if (found == known_.end()) continue;  // gone
      one.verdict.order = found->second.verdict.order;
      found->second = {one.verdict, now};
      due.push_back(std::move(one));
    }
  }
  for (const Delayed& one : due) Publish(one.key, one.verdict);
}

void Verdicts::SetOrder(const TrainingJob& job, QueueOrder order, absl::Time wall) {
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
