#include "operator/notify/alert_book.h"

#include <algorithm>
#include <tuple>

namespace muster::control {
namespace {

bool HasEnded(const AlertNews& news) { return news.ended != absl::InfiniteFuture(); }

}  // namespace

bool AlertBook::Set(const AlertedJob& job, const std::vector<JobAlert>& firing, absl::Time wall) {
  const auto fires = [&](const JobAlert& alert) {
    return std::find_if(firing.begin(), firing.end(), [&](const JobAlert& other) {
             return KeyOf(job, other) == KeyOf(job, alert);
           }) != firing.end();
  };
  for (auto it = alerts_.lower_bound(Key{job.uid, "", absl::InfinitePast()});
       it != alerts_.end() && it->second.job.uid == job.uid; ++it) {
    Entry& entry = it->second;
    if (HasEnded(entry.news) || fires(entry.news.alert)) continue;
    entry.news.ended = wall;
    entry.due = absl::InfinitePast();
  }
  bool complete = true;
  for (const JobAlert& alert : firing) {
    if (alerts_.count(KeyOf(job, alert)) > 0) continue;
    if (alerts_.size() >= kMaxAlerts) {
      complete = false;
      continue;
    }
    Entry& entry = alerts_[KeyOf(job, alert)];
    entry.job = job;
    entry.news.alert = alert;
  }
  return complete;
}

std::optional<AlertBook::Batch> AlertBook::Due(absl::Time now) const {
  if (now < not_before_) return std::nullopt;
  std::optional<Batch> batch;
  for (const auto& [key, entry] : alerts_) {
    if (entry.due > now) continue;
    if (!batch) batch = Batch{entry.job, {}};
    if (batch->job.uid != entry.job.uid) break;
    batch->news.push_back(entry.news);
    // An alert that ended before anybody was told begins first.
    if (!entry.told_begin) batch->news.back().ended = absl::InfiniteFuture();
  }
  return batch;
}

absl::Time AlertBook::NextDue() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [key, entry] : alerts_) next = std::min(next, entry.due);
  return std::max(next, not_before_);
}

void AlertBook::Told(const Batch& batch, bool reached, absl::Time now) {
  failures_ = reached ? 0 : failures_ + 1;
  not_before_ = reached ? absl::InfinitePast() : now + BackoffAfter(failures_, kBackoff);
  for (const AlertNews& news : batch.news) {
    const auto it = alerts_.find(KeyOf(batch.job, news.alert));
    if (it == alerts_.end()) continue;
    Entry& entry = it->second;
    if (!reached) {
      entry.failing_since = std::min(entry.failing_since, now);
      if (HasEnded(entry.news) && now - entry.failing_since >= kForget) alerts_.erase(it);
      continue;
    }
    entry.failing_since = absl::InfiniteFuture();
    if (HasEnded(news)) {
      alerts_.erase(it);
      continue;
    }
    entry.told_begin = true;
    entry.due = HasEnded(entry.news) ? absl::InfinitePast() : now + repeat_;
  }
}

}  // namespace muster::control
