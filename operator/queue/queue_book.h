#ifndef MUSTER_OPERATOR_QUEUE_QUEUE_BOOK_H_
#define MUSTER_OPERATOR_QUEUE_QUEUE_BOOK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "operator/queue/order.h"
#include "operator/queue/queue_spec.h"
#include "operator/queue/queued_job.h"
#include "operator/queue/quota_tree.h"

namespace muster::control {

struct BookOptions {
  // After this long a queue's past use counts half; zero: only what it uses now counts.
  absl::Duration half_life = absl::Hours(24);
  // A job's priority counts one more for each such time it has waited; infinite: never.
  absl::Duration aging = absl::Minutes(1);
};

// What a new leader must be told to decide as the one before, and a replay to decide the same.
struct BookMemory {
  BookOptions options;
  Amounts capacity;
  // By queue: the decayed mean of what it used, by resource, at `at`.
  std::map<std::string, std::map<std::string, double>> past_use;
  absl::Time at = absl::UnixEpoch();
  // By job: since when it has a reservation, and since when others make room for it.
  std::map<std::string, absl::Time> reserved_since;
  std::map<std::string, absl::Time> claimed_since;
};

// What `mean` becomes when so much is used for so long: older use counts half after a half-life.
double DecayedMean(double mean, double used, absl::Duration passed, absl::Duration half_life);

// Queues and jobs, indexed for Schedule: the jobs of each queue in order, what each queue uses and
// has used. A change of one job costs O(log jobs + depth of the cohorts). Not thread-safe.
class QueueBook {
 public:
  explicit QueueBook(const BookOptions& options = {});
  ~QueueBook();
  QueueBook(const QueueBook&) = delete;
  QueueBook& operator=(const QueueBook&) = delete;

  // Takes the place of all queues that were there. O(jobs).
  void SetQueues(absl::Time now, const std::vector<QueueSpec>& queues);
  // What the cluster has of each resource when nothing runs: shares are parts of it. A resource
  // that is not named counts for no share.
  void SetCapacity(const Amounts& capacity);
  // Adds a job, or takes the place of the one with its UID. Jobs without a queue are in the queue
  // "default", which has no limits unless somebody makes it.
  void Upsert(absl::Time now, QueuedJob job);
  bool Remove(absl::Time now, const std::string& uid);
  // A running job has saved a checkpoint, or knows better when it ends: neither changes its place.
  void Progress(const std::string& uid, absl::Time checkpointed, std::optional<absl::Time> ends);

  // Of a waiting job: QueuedJob::fits_nowhere. Its place in the queue stays.
  void SetFitsNowhere(const std::string& uid, bool fits_nowhere);

  const QueuedJob* Find(const std::string& uid) const;
  int64_t jobs() const;
  int64_t waiting() const;

  // For people: a queue's use, its dominant share now (weighted, decayed), its jobs in order.
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
  // Of a waiting job in its queue's order, from 1; 0: it does not wait in a queue that is there.
  // O(jobs ahead).
  int64_t PositionOf(const std::string& uid) const;

  BookMemory Memory(absl::Time now) const;
  void Remember(const BookMemory& memory);
  // What queues had used by `now`, by queue and resource; of others it is forgotten.
  void RememberPast(absl::Time now,
                    const std::map<std::string, std::map<std::string, double>>& past_use);

  // For Schedule and what it is made of: queue_state.h.
  struct State;
  State& state() { return *state_; }
  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_QUEUE_BOOK_H_
