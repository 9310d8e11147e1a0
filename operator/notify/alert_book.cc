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
    if (alerts_.size() >= kMaxAlerts && !MakeRoom(job.ns)) {
      complete = false;
      continue;
    }
    ++by_namespace_[job.ns];
    Entry& entry = alerts_[KeyOf(job, alert)];
    entry.job = job;
    entry.news.alert = alert;
  }
  return complete;
}

bool AlertBook::MakeRoom(const std::string& ns) {
  const auto most =
      std::max_element(by_namespace_.begin(), by_namespace_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto own = by_namespace_.find(ns);
  if (most->second <= (own == by_namespace_.end() ? 0 : own->second) + 1) return false;
  // An alert whose begin has not been sent is missed the least.
  auto leaves = alerts_.end();
  for (auto it = alerts_.begin(); it != alerts_.end(); ++it) {
    if (it->second.job.ns != most->first) continue;
    leaves = it;
    if (!it->second.told_begin) break;
  }
  Erase(leaves);
  return true;
}

void AlertBook::Erase(Alerts::iterator alert) {
  const auto count = by_namespace_.find(alert->second.job.ns);
  if (--count->second == 0) by_namespace_.erase(count);
  alerts_.erase(alert);
}

std::optional<AlertBook::Batch> AlertBook::Due(absl::Time now) const {
  if (now < not_before_) return std::nullopt;
  const auto is_due = [&](const auto& alert) { return alert.second.due <= now; };
  const auto after = std::find_if(alerts_.begin(), alerts_.end(), [&](const auto& alert) {
    return is_due(alert) && alert.second.job.uid > told_last_;
  });
  const auto first =
      after != alerts_.end() ? after : std::find_if(alerts_.begin(), alerts_.end(), is_due);
  if (first == alerts_.end()) return std::nullopt;
  Batch batch{first->second.job, {}};
  for (auto it = first; it != alerts_.end() && it->second.job.uid == batch.job.uid; ++it) {
    if (!is_due(*it)) continue;
    batch.news.push_back(it->second.news);
    // An alert that ended before anybody was told begins first.
    if (!it->second.told_begin) batch.news.back().ended = absl::InfiniteFuture();
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
  told_last_ = batch.job.uid;
  for (const AlertNews& news : batch.news) {
    const auto it = alerts_.find(KeyOf(batch.job, news.alert));
    if (it == alerts_.end()) continue;
    Entry& entry = it->second;
    if (!reached) {
      entry.failing_since = std::min(entry.failing_since, now);
      if (HasEnded(entry.news) && now - entry.failing_since >= kForget) Erase(it);
      continue;
    }
    entry.failing_since = absl::InfiniteFuture();
    if (HasEnded(news)) {
      Erase(it);
      continue;
    }
    entry.told_begin = true;
    entry.due = HasEnded(entry.news) ? absl::InfinitePast() : now + repeat_;
  }
}

}  // namespace muster::control
