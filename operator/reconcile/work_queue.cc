#include "operator/reconcile/work_queue.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"

namespace muster::control {

WorkQueue::WorkQueue(const Clock& clock) : WorkQueue(clock, Options()) {}

WorkQueue::WorkQueue(const Clock& clock, Options options, WorkQueueObserver* observer)
    : clock_(clock), options_(options), observer_(observer), random_(options.seed) {}

void WorkQueue::PushLocked(const std::string& key, bool can_wait) {
  const absl::Time now = clock_.Monotonic();
  (can_wait ? idle_ : queue_).push_back({key, now});
  if (can_wait) idle_since_[key] = now;
  ready_.NotifyOne();
}

void WorkQueue::AddLocked(const std::string& key, bool can_wait) {
  if (shutdown_) return;
  ++adds_;
  if (!dirty_.insert(key).second) {
    if (!can_wait && idle_since_.erase(key) > 0) PushLocked(key, false);
    return;
  }
  if (processing_.count(key) > 0) return;  // Done will queue it
  PushLocked(key, can_wait);
}

void WorkQueue::AddAtLocked(const std::string& key, Due due) {
  if (shutdown_) return;
  const auto known = due_.find(key);
  if (known != due_.end()) {
    if (known->second.when <= due.when) return;
    delayed_.erase({known->second.when, key});
  }
  due_[key] = due;
  delayed_.insert({due.when, key});
  ready_.NotifyOne();  // a waiter may have to wake earlier than it planned
}

void WorkQueue::Add(const std::string& key) {
  MutexLock lock(mu_);
  AddLocked(key);
}

void WorkQueue::AddAfter(const std::string& key, absl::Duration delay) {
  MutexLock lock(mu_);
  if (delay <= absl::ZeroDuration()) return AddLocked(key);
  AddAtLocked(key, {clock_.Monotonic() + delay});
}

void WorkQueue::AddWhenIdle(const std::string& key, absl::Duration delay) {
  MutexLock lock(mu_);
  AddAtLocked(key, {clock_.Monotonic() + std::max(delay, absl::ZeroDuration()), true});
}

void WorkQueue::AddRateLimited(const std::string& key) {
  MutexLock lock(mu_);
  ++retries_;
  const BackoffBounds bounds{options_.min_backoff, options_.max_backoff};
  const absl::Duration delay = BackoffAfter(++failures_[key], bounds);
  const double spread = std::uniform_real_distribution<double>(0, options_.jitter)(random_);
  AddAtLocked(key, {clock_.Monotonic() + delay * (1 + spread)});
}

void WorkQueue::Forget(const std::string& key) {
  MutexLock lock(mu_);
  failures_.erase(key);
}

bool WorkQueue::IsIdle(const Ready& entry) const {
  const auto it = idle_since_.find(entry.key);
  return it != idle_since_.end() && it->second == entry.since;
}

bool WorkQueue::IsIdleNext(absl::Time now) {
  while (!idle_.empty() && !IsIdle(idle_.front())) idle_.pop_front();
  if (idle_.empty()) return false;
  return (queue_.empty() && !idle_held_) || now - idle_.front().since >= options_.patience;
}

absl::Time WorkQueue::NextLocked() const {
  absl::Time next = absl::InfiniteFuture();
  if (!delayed_.empty()) next = delayed_.begin()->first;
  if (!idle_.empty()) next = std::min(next, idle_.front().since + options_.patience);
  return next;
}

void WorkQueue::HoldIdle(bool held) {
  MutexLock lock(mu_);
  idle_held_ = held;
  if (!held) ready_.NotifyAll();
}

std::optional<std::string> WorkQueue::TakeLocked() {
  const absl::Time now = clock_.Monotonic();
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    const std::string key = delayed_.begin()->second;
    delayed_.erase(delayed_.begin());
    const bool can_wait = due_[key].can_wait;
    due_.erase(key);
    AddLocked(key, can_wait);
  }
  std::deque<Ready>& from = IsIdleNext(now) ? idle_ : queue_;
  if (from.empty()) return std::nullopt;
  Ready taken = std::move(from.front());
  from.pop_front();
  idle_since_.erase(taken.key);
  dirty_.erase(taken.key);
  processing_[taken.key] = now;
  if (observer_ != nullptr) observer_->Taken(now - taken.since);
  return std::move(taken.key);
}

std::optional<std::string> WorkQueue::Get() {
  MutexLock lock(mu_);
  while (!shutdown_) {
    if (auto key = TakeLocked()) return key;
    const absl::Time next = NextLocked();
    if (next == absl::InfiniteFuture()) {
      ready_.Wait(mu_);
    } else {
      ready_.WaitFor(mu_, next - clock_.Monotonic());
    }
  }
  return std::nullopt;
}

std::optional<std::string> WorkQueue::TryGet() {
  MutexLock lock(mu_);
  return shutdown_ ? std::nullopt : TakeLocked();
}

void WorkQueue::Done(const std::string& key) {
  MutexLock lock(mu_);
  const auto taken = processing_.find(key);
  if (taken != processing_.end()) {
    if (observer_ != nullptr) observer_->Finished(clock_.Monotonic() - taken->second);
    processing_.erase(taken);
  }
  if (dirty_.count(key) == 0 || shutdown_) return;
  PushLocked(key, false);
}

void WorkQueue::Shutdown() {
  MutexLock lock(mu_);
  shutdown_ = true;
  queue_.clear();
  idle_.clear();
  idle_since_.clear();
  dirty_.clear();
  delayed_.clear();
  due_.clear();
  ready_.NotifyAll();
}

WorkQueue::Stats WorkQueue::stats() const {
  MutexLock lock(mu_);
  Stats stats{
      queue_.size() + idle_since_.size(), delayed_.size(), processing_.size(), adds_, retries_, {}};
  const absl::Time now = clock_.Monotonic();
  for (const auto& [key, since] : processing_) {
    stats.longest_running = std::max(stats.longest_running, now - since);
  }
  return stats;
}

void WorkQueue::VisitLocked(const std::function<bool(KeyState)>& visit) const {
  const absl::Time now = clock_.Monotonic();
  const auto tell = [&](const std::string& key, const char* state, absl::Duration time,
                        bool again = false) MUSTER_REQUIRES(mu_) {
    const auto failures = failures_.find(key);
    return visit({key, state, time, failures == failures_.end() ? 0 : failures->second, again});
  };
  for (const auto& [key, since] : processing_) {
    if (!tell(key, "inProgress", now - since, dirty_.count(key) > 0)) return;
  }
  for (const Ready& ready : queue_) {
    if (!tell(ready.key, "waiting", now - ready.since)) return;
  }
  for (const Ready& ready : idle_) {
    if (IsIdle(ready) && !tell(ready.key, "waiting", now - ready.since)) return;
  }
  for (const auto& [due, key] : delayed_) {
    if (!tell(key, "delayed", std::max(due - now, absl::ZeroDuration()))) return;
  }
}

std::vector<WorkQueue::KeyState> WorkQueue::Keys(size_t limit) const {
  MutexLock lock(mu_);
  std::vector<KeyState> keys;
  VisitLocked([&](KeyState state) {
    if (keys.size() == limit) return false;
    keys.push_back(std::move(state));
    return true;
  });
  return keys;
}

std::optional<WorkQueue::KeyState> WorkQueue::Find(const std::string& key) const {
  MutexLock lock(mu_);
  std::optional<KeyState> found;
  VisitLocked([&](KeyState state) {
    if (state.key == key) found = std::move(state);
    return !found.has_value();
  });
  return found;
}

std::optional<absl::Time> WorkQueue::next_due() const {
  MutexLock lock(mu_);
  if (delayed_.empty()) return std::nullopt;
  return delayed_.begin()->first;
}

}  // namespace muster::control
