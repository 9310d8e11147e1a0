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

// Told how long keys waited and were worked on. Called with the queue's lock held: must be quick
// and must not call back.
class WorkQueueObserver {
 public:
  virtual ~WorkQueueObserver() = default;
  // From when the key became ready to when a worker took it.
  virtual void Taken(absl::Duration waited) = 0;
  // From there to Done.
  virtual void Finished(absl::Duration worked) = 0;
};

// The controller's queue of keys, as in client-go: a key waits at most once however often it is
// added, is handed to one worker at a time, and a key added while it is worked on comes back after
// Done.
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
    // Of what can wait, while there is other work.
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
    absl::Duration time;  // waited, left to wait, or worked on
    int failures = 0;     // since Forget
    bool again = false;   // in progress and added meanwhile
  };

  explicit WorkQueue(const Clock& clock);
  // `observer` may be null and must outlive the queue.
  WorkQueue(const Clock& clock, Options options, WorkQueueObserver* observer = nullptr);

  void Add(const std::string& key);
  // Of several delayed adds of one key the earliest counts.
  void AddAfter(const std::string& key, absl::Duration delay);
  // The same for what can wait: then it is handed out when nothing else is ready, or has waited for
  // Options::patience.
  void AddWhenIdle(const std::string& key, absl::Duration delay);
  // While held, what can wait does so whether there is other work or not, for Options::patience.
  void HoldIdle(bool held);
  // Delays by the key's back-off, which doubles each time until Forget.
  void AddRateLimited(const std::string& key);
  void Forget(const std::string& key);

  // Blocks until a key is ready; nullopt after Shutdown.
  std::optional<std::string> Get();
  // Never blocks.
  std::optional<std::string> TryGet();
  void Done(const std::string& key);

  // Wakes every Get; what waits is dropped, adds are ignored from now on.
  void Shutdown();

  Stats stats() const;
  // At most `limit` of them, what is in progress first, then what waits, in their order.
  std::vector<KeyState> Keys(size_t limit) const;
  // Nullopt: the queue does not hold the key.
  std::optional<KeyState> Find(const std::string& key) const;
  // When the next delayed key becomes ready, by Clock::Monotonic.
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
  // When there may be something to take without a call.
  absl::Time NextLocked() const MUSTER_REQUIRES(mu_);
  // All keys in the order of Keys, until `visit` says false.
  void VisitLocked(const std::function<bool(KeyState)>& visit) const MUSTER_REQUIRES(mu_);

  const Clock& clock_;
  const Options options_;
  WorkQueueObserver* const observer_;

  mutable Mutex mu_;
  CondVar ready_;
  bool shutdown_ MUSTER_GUARDED_BY(mu_) = false;
  std::deque<Ready> queue_ MUSTER_GUARDED_BY(mu_);
  // What can wait, and since when each key does: an entry of another time has left by Add.
  std::deque<Ready> idle_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, absl::Time> idle_since_ MUSTER_GUARDED_BY(mu_);
  bool idle_held_ MUSTER_GUARDED_BY(mu_) = false;
  std::set<std::string> dirty_ MUSTER_GUARDED_BY(mu_);  // in a queue, or to be after Done
  std::map<std::string, absl::Time> processing_ MUSTER_GUARDED_BY(mu_);  // taken when
  std::map<std::string, Due> due_ MUSTER_GUARDED_BY(mu_);
  std::set<std::pair<absl::Time, std::string>> delayed_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, int> failures_ MUSTER_GUARDED_BY(mu_);
  std::mt19937_64 random_ MUSTER_GUARDED_BY(mu_);
  int64_t adds_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t retries_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_WORK_QUEUE_H_
