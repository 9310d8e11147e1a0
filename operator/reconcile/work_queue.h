#ifndef MUSTER_OPERATOR_RECONCILE_WORK_QUEUE_H_
#define MUSTER_OPERATOR_RECONCILE_WORK_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace muster::control {

// Observes how long keys waited and were worked on. Called with the queue's lock held; must be
// quick and must not call back.
class WorkQueueObserver {
 public:
  virtual ~WorkQueueObserver() = default;
  // A worker took a key, `waited` after it became ready.
  virtual void Taken(absl::Duration waited) = 0;
  // Done was called for a key, `worked` after it was taken.
  virtual void Finished(absl::Duration worked) = 0;
};

// The controller's queue of keys, as in client-go: a key waits at most once however often it is
// added, is handed to one worker at a time, and comes back after Done if it was added while it was
// worked on.
//
//   while (auto key = queue.Get()) {
//     if (Reconcile(*key).ok()) queue.Forget(*key); else queue.AddRateLimited(*key);
//     queue.Done(*key);
//   }
//
// Thread-safe.
class WorkQueue {
 public:
  struct Options {
    absl::Duration min_backoff = absl::Milliseconds(50);
    absl::Duration max_backoff = absl::Seconds(60);
    // A back-off of d is drawn from [d, d * (1 + jitter)].
    double jitter = 0.25;
    uint64_t seed = 1;
    // The longest that keys of AddWhenIdle wait while there is other work.
    absl::Duration patience = absl::Seconds(5);
  };
  struct Stats {
    size_t waiting = 0;  // ready to be taken
    size_t delayed = 0;
    size_t in_progress = 0;
    int64_t adds = 0;
    int64_t retries = 0;
    absl::Duration longest_running;  // of the keys in progress
  };

  struct KeyState {
    std::string key;
    std::string state;    // "waiting", "delayed" or "inProgress"
    absl::Duration time;  // time waited, time left to wait, or time worked on
    int failures = 0;     // since Forget
    bool again = false;   // in progress and added meanwhile
  };

  explicit WorkQueue(const Clock& clock);
  // `observer` may be null and must outlive the queue.
  WorkQueue(const Clock& clock, Options options, WorkQueueObserver* observer = nullptr);

  void Add(const std::string& key);
  // The earliest of several delayed adds of one key counts.
  void AddAfter(const std::string& key, absl::Duration delay);
  // Adds a key that can wait, after the delay: it is handed out when no other key is ready, or
  // after it has waited for Options::patience.
  void AddWhenIdle(const std::string& key, absl::Duration delay);
  // While held, keys that can wait do so for Options::patience even if there is no other work.
  void HoldIdle(bool held);
  // Delays by the key's back-off, which doubles each time until Forget.
  void AddRateLimited(const std::string& key);
  void Forget(const std::string& key);

  // Blocks until a key is ready; nullopt after Shutdown.
  std::optional<std::string> Get();
  // Never blocks.
  std::optional<std::string> TryGet();
  void Done(const std::string& key);

  // Wakes every Get, drops the waiting keys, and ignores adds from now on.
  void Shutdown();

  Stats stats() const;
  // Returns at most `limit` keys: those in progress first, then those that wait, in their order.
  std::vector<KeyState> Keys(size_t limit) const;
  // Returns nullopt if the queue does not hold the key.
  std::optional<KeyState> Find(const std::string& key) const;
  // Returns when the next delayed key becomes ready, by Clock::Monotonic.
  std::optional<absl::Time> next_due() const;

 private:
  struct Ready {
    std::string key;
    absl::Time since;
  };
  struct Due {
    absl::Time when;
    bool can_wait = false;
  };

  void AddLocked(const std::string& key, bool can_wait = false) MUSTER_REQUIRES(mu_);
  void PushLocked(const std::string& key, bool can_wait) MUSTER_REQUIRES(mu_);
  void AddAtLocked(const std::string& key, Due due) MUSTER_REQUIRES(mu_);
  bool IsIdle(const Ready& entry) const MUSTER_REQUIRES(mu_);
  bool IsIdleNext(absl::Time now) MUSTER_REQUIRES(mu_);
  std::optional<std::string> TakeLocked() MUSTER_REQUIRES(mu_);
  // Returns when there may be a key to take without a further call.
  absl::Time NextLocked() const MUSTER_REQUIRES(mu_);
  // Visits all keys in the order of Keys, until `visit` returns false.
  void VisitLocked(const std::function<bool(KeyState)>& visit) const MUSTER_REQUIRES(mu_);

  const Clock& clock_;
  const Options options_;
  WorkQueueObserver* const observer_;

  mutable Mutex mu_;
  CondVar ready_;
  bool shutdown_ MUSTER_GUARDED_BY(mu_) = false;
  std::deque<Ready> queue_ MUSTER_GUARDED_BY(mu_);
  // Keys that can wait, and since when each does: an entry with another time was moved by Add.
  std::deque<Ready> idle_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, absl::Time> idle_since_ MUSTER_GUARDED_BY(mu_);
  bool idle_held_ MUSTER_GUARDED_BY(mu_) = false;
  std::set<std::string> dirty_
      MUSTER_GUARDED_BY(mu_);  // keys in a queue, or to be queued after Done
  std::map<std::string, absl::Time> processing_
      MUSTER_GUARDED_BY(mu_);  // the time at which each was taken
  std::map<std::string, Due> due_ MUSTER_GUARDED_BY(mu_);
  std::set<std::pair<absl::Time, std::string>> delayed_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, int> failures_ MUSTER_GUARDED_BY(mu_);
  std::mt19937_64 random_ MUSTER_GUARDED_BY(mu_);
  int64_t adds_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t retries_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_WORK_QUEUE_H_
