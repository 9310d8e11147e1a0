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
#include "operator/placement/topology_tree.h"
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

  // The internals that Schedule and its parts use.
  struct State;
  State& state() { return *state_; }
  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// The rest is a book's internals, for Schedule and its parts.

// A job and its state in the book.
struct JobEntry {
  QueuedJob job;
  int queue = -1;  // index in the quota tree; -1: no queue has that name
  QuotaNeed per_worker;
  // RankOf, which is constant while the job waits. For a running job, the value last computed.
  double rank = 0;
  // The times at which it got its reservation, and at which others began to make room for it.
  std::optional<absl::Time> reserved_since;
  std::optional<absl::Time> claimed_since;

  QuotaNeed Need(int64_t workers) const;
  // The tree's index of worker i's node; -1 when the tree has no such node.
  int NodeOf(const TopologyTree& nodes, int worker) const;

 private:
  mutable std::vector<int> node_at_;  // the last answers: nodes seldom change their index
};

struct WaitsBefore {
  bool operator()(const JobEntry* a, const JobEntry* b) const;
};
struct UidBefore {
  bool operator()(const JobEntry* a, const JobEntry* b) const { return a->job.uid < b->job.uid; }
};

// A queue's jobs, and what it has used.
struct QueueEntry {
  QueueSpec spec;
  std::set<JobEntry*, WaitsBefore> waiting;
  std::set<JobEntry*, UidBefore> running;
  std::map<std::string, std::vector<int64_t>> used_by_namespace;  // by resource index
  // The decayed mean of what was used, by resource, at `past_at`.
  std::vector<double> past;
  absl::Time past_at = absl::UnixEpoch();
};

// Workers [from, to) of a running job, which are about to go.
struct Leaver {
  const JobEntry* entry = nullptr;
  int from = 0;
  int to = 0;
};

struct QueueBook::State {
  explicit State(const BookOptions& options);

  // The name of the job's queue; the default queue's if it names none.
  static const std::string& QueueOf(const QueuedJob& job);

  void Insert(absl::Time now, JobEntry& entry);
  void Erase(absl::Time now, JobEntry& entry);
  // Starts, ends or resizes the job: its place in the queue and what is used follow.
  void Move(absl::Time now, JobEntry& entry, std::vector<std::string> nodes);
  // AgedRank of a job that waits, or would wait from now on; time spent running does not age it.
  double RankOf(const JobEntry& entry, absl::Time now) const;
  // A running job neither stops nor shrinks for another before this: QueueSpec::min_runtime.
  absl::Time ProtectedUntil(const JobEntry& entry) const;
  // Elastic jobs of its queue shrink for a waiting job from then on: QueueSpec::shrink_after.
  absl::Time ShrinksOthersFrom(const JobEntry& waiting) const;
  // Workers that were told to go, or whose job ends by itself, and that are gone after `grace`.
  std::vector<Leaver> LeaversAfter(absl::Time now, absl::Duration grace) const;
  // Brings the queue's past use up to now.
  void Settle(absl::Time now, int queue);
  // The decayed weighted dominant share: the mean of current and past use, as a fraction of the
  // cluster, for the resource with the largest fraction, divided by the weight. `claimed`, by
  // resource index, counts as used; empty: nothing.
  double ShareOf(absl::Time now, int queue, const std::vector<int64_t>& claimed = {});

  BookOptions options;
  Amounts capacity;
  std::vector<double> capacity_of;  // by resource index; 0: counts for no share
  std::vector<QueueSpec> specs;
  std::unique_ptr<QuotaTree> tree;
  std::unique_ptr<QuotaUse> use;
  std::vector<QueueEntry> queues;                     // by index of the tree
  std::set<JobEntry*, UidBefore> jobs_without_queue;  // jobs of queues that do not exist
  absl::flat_hash_map<std::string, std::unique_ptr<JobEntry>> jobs;  // by UID
  int64_t waiting = 0;
  bool may_have_claims = false;  // some waiting job may have a `claimed_since`

 private:
  void Count(absl::Time now, JobEntry& entry, int sign);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_BOOK_QUEUE_BOOK_H_
