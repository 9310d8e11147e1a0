#ifndef MUSTER_OPERATOR_QUEUE_QUEUE_STATE_H_
#define MUSTER_OPERATOR_QUEUE_QUEUE_STATE_H_

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
#include "operator/queue/order.h"
#include "operator/queue/queue_book.h"
#include "operator/queue/queue_spec.h"
#include "operator/queue/queued_job.h"
#include "operator/queue/quota_tree.h"

// The inside of a QueueBook, for Schedule and its parts.
namespace muster::control {

// A job and where it stands.
struct JobEntry {
  QueuedJob job;
  int queue = -1;  // of the quota tree; -1: there is none of its name
  QuotaNeed per_worker;
  // RankOf: it is the same while it waits. Of one that runs, when it was last asked for.
  double rank = 0;
  // Since when it has a reservation, and since when others make room for it.
  std::optional<absl::Time> reserved_since;
  std::optional<absl::Time> claimed_since;

  QuotaNeed Need(int64_t workers) const;
  // The tree's index of worker i's node; -1 when the tree has no such node.
  int NodeOf(const TopologyTree& nodes, int worker) const;

 private:
  mutable std::vector<int> node_at_;  // as found last: nodes seldom change their index
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

// Workers [from, to) of a running job, which go.
struct Leaver {
  const JobEntry* entry = nullptr;
  int from = 0;
  int to = 0;
};

struct QueueBook::State {
  explicit State(const BookOptions& options);

  // Where a job that names no queue waits.
  static const std::string& QueueOf(const QueuedJob& job);

  void Insert(absl::Time now, JobEntry& entry);
  void Erase(absl::Time now, JobEntry& entry);
  // The job starts, ends or changes its size: its place in the queue and what is used follow.
  void Move(absl::Time now, JobEntry& entry, std::vector<std::string> nodes);
  // AgedRank of a job that waits, or that would wait from now on: what it runs does not age it.
  double RankOf(const JobEntry& entry, absl::Time now) const;
  // Until when a running job neither stops nor shrinks for another: QueueSpec::min_runtime.
  absl::Time ProtectedUntil(const JobEntry& entry) const;
  // Who has been told to go, or ends by itself, and is gone after `grace`.
  std::vector<Leaver> LeaversAfter(absl::Time now, absl::Duration grace) const;
  // Brings the queue's past use up to now.
  void Settle(absl::Time now, int queue);
  // The decayed weighted dominant share: the mean of what the queue uses now and what it used,
  // as a part of the cluster, of the resource of which that is most, by weight.
  // `claimed`, by resource index, counts as used; empty: nothing.
  double ShareOf(absl::Time now, int queue, const std::vector<int64_t>& claimed = {});

  BookOptions options;
  Amounts capacity;
  std::vector<double> capacity_of;  // by resource index; 0: counts for no share
  std::vector<QueueSpec> specs;
  std::unique_ptr<QuotaTree> tree;
  std::unique_ptr<QuotaUse> use;
  std::vector<QueueEntry> queues;                                    // by index of the tree
  std::set<JobEntry*, UidBefore> strays;                             // of queues that nobody made
  absl::flat_hash_map<std::string, std::unique_ptr<JobEntry>> jobs;  // by UID
  int64_t waiting = 0;
  bool may_have_claims = false;  // whether some job that waits may have a `claimed_since`

 private:
  void Count(absl::Time now, JobEntry& entry, int sign);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_QUEUE_STATE_H_
