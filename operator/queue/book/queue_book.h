#ifndef MUSTER_OPERATOR_QUEUE_BOOK_QUEUE_BOOK_H_
#define MUSTER_OPERATOR_QUEUE_BOOK_QUEUE_BOOK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "operator/queue/book/order.h"
#include "operator/queue/book/queue_spec.h"
#include "operator/queue/book/queued_job.h"
#include "operator/queue/book/quota_tree.h"

namespace muster::control {

struct BookOptions {
  // A queue's past use counts half after this long; zero: only current use counts.
  absl::Duration half_life = absl::Hours(24);
  // A job's priority counts one more for each such time that it has waited; infinite: never.
  absl::Duration aging = absl::Minutes(1);
};

// The state that a new leader needs to decide as the one before, and a replay to decide the same.
struct BookMemory {
  BookOptions options;
  Amounts capacity;
  // The decayed mean of each queue's use, by resource, at `at`.
  std::map<std::string, std::map<std::string, double>> past_use;
  absl::Time at = absl::UnixEpoch();
  // By job: when it got its reservation, and when others began to make room for it.
  std::map<std::string, absl::Time> reserved_since;
  std::map<std::string, absl::Time> claimed_since;
};

// Returns the mean after `used` was in use for `passed`; older use counts half after a half-life.
double DecayedMean(double mean, double used, absl::Duration passed, absl::Duration half_life);

// Queues and jobs, indexed for Schedule: the jobs of each queue in order, what each queue uses and
// has used. A change of one job costs O(log jobs + depth of the cohorts). Not thread-safe.
class QueueBook {
 public:
  explicit QueueBook(const BookOptions& options = {});
  ~QueueBook();
  QueueBook(const QueueBook&) = delete;
  QueueBook& operator=(const QueueBook&) = delete;

  // Replaces all queues. O(jobs).
  void SetQueues(absl::Time now, const std::vector<QueueSpec>& queues);
  // Sets what the cluster has of each resource when nothing runs: shares are parts of it. A
  // resource that is not named counts for no share.
  void SetCapacity(const Amounts& capacity);
  // Adds a job, or replaces the one with its UID. Jobs without a queue are in the queue "default",
  // which has no limits unless it is among the queues that were set.
  void Upsert(absl::Time now, QueuedJob job);
  bool Remove(absl::Time now, const std::string& uid);
  // Records a running job's last checkpoint and its expected end. Its place does not change.
  void Progress(const std::string& uid, absl::Time checkpointed, std::optional<absl::Time> ends);

  // Sets QueuedJob::fits_nowhere of a waiting job. Its place in the queue does not change.
  void SetFitsNowhere(const std::string& uid, bool fits_nowhere);

  const QueuedJob* Find(const std::string& uid) const;
  int64_t jobs() const;
  int64_t waiting() const;

  // A queue as it is shown to people; the share is dominant, weighted and decayed.
  struct QueueView {
    std::string name;
    std::string parent;
    double weight = 1;
    double share = 0;
    bool borrowing = false;
    int64_t running = 0;
    int64_t waiting = 0;
    Amounts used;
    Amounts nominal;
    std::map<std::string, double> past;  // the decayed mean of what it used, by resource
  };
  std::vector<QueueView> Queues(absl::Time now) const;
  std::vector<const QueuedJob*> WaitingInOrder(const std::string& queue) const;
  // The waiting job's place in its queue, from 1; 0: it does not wait in a queue that exists.
  // O(jobs ahead).
  int64_t PositionOf(const std::string& uid) const;

  // Elastic jobs of its queue shrink for the waiting job from then on (QueueSpec::shrink_after).
  // InfiniteFuture: they do not, or the job does not wait.
  absl::Time ShrinksOthersFrom(const std::string& uid) const;

  BookMemory Memory(absl::Time now) const;
  void Remember(const BookMemory& memory);
  // Sets the past use of queues as of `now`, by queue and resource; those left out have none.
  void RememberPast(absl::Time now,
                    const std::map<std::string, std::map<std::string, double>>& past_use);

  // The internals that Schedule and its parts use (queue_state.h).
  struct State;
  State& state() { return *state_; }
  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_BOOK_QUEUE_BOOK_H_
