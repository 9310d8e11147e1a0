#ifndef MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_SYNC_H_
#define MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_SYNC_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "operator/objects/caches.h"
#include "operator/objects/priority_class.h"
#include "operator/objects/verdicts.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queue_spec.h"
#include "operator/queue/book/quota_amounts.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/cluster/node_holders.h"
#include "operator/scheduler/gang/whole_nodes.h"
#include "operator/scheduler/queue_sync/queue_job_state.h"

namespace muster::control {

// Keeps the QueueBook as the caches and the model have it: jobs wait once all their pods are there,
// run with the workers that have nodes, and leave when ordered to, until their pods are gone. Only
// jobs that were touched are looked at. Everything in World must outlive this. Not thread-safe.
class QueueSync {
 public:
  struct World {
    const JobCache& jobs;
    const ClusterModel& model;
    const NodeHolders& holders;
    const Verdicts& verdicts;
  };

  QueueSync(const World& world, const BookOptions& options);

  // Both take effect at the next Update, for all jobs.
  void SetQueues(absl::Time now, const std::vector<QueueSpec>& queues);
  void SetPriorities(const PriorityCache& classes);
  // Takes over what queues used under the previous leader.
  void RememberPast(absl::Time now,
                    const std::map<std::string, std::map<std::string, double>>& past_use) {
    book_.RememberPast(now, past_use);
  }
  // Sets the amounts that the cluster has; shares are fractions of them.
  void SetCapacity(const Amounts& capacity);

  // The job's object, its pods, or an order to it may have changed.
  void Touch(const std::string& uid, const kube::ObjectKey& job) { touched_[uid] = job; }
  void Touch(const std::string& uid);
  // Brings the book up to date with the touched jobs. `now` is the wall clock's.
  void Update(absl::Time now);
  // Returns true if the book changed since the last call, so that a cycle might decide differently.
  bool TakeChanged() { return std::exchange(changed_, false); }
  // Returns true if running jobs have come to count for other resources since the last call.
  bool TakeRecounted() { return std::exchange(recounted_, false); }

  // Marks waiting jobs that fit nowhere, where that may have changed. Without queues no job holds
  // up others, and none is marked.
  void MarkUnplaceableJobs(WholeNodes& nodes);

  // Records that the job started with this many workers, or has this many from now on. Workers that
  // it loses remain its own.
  void Entitle(const std::string& uid, int workers, absl::Time now);
  // Records that the job lost all its workers and has no place: it waits again.
  void Demote(const std::string& uid);

  // Returns null for an unknown job.
  const QueueJobState* Find(const std::string& uid) const;
  const absl::flat_hash_map<std::string, QueueJobState>& all() const { return standings_; }
  // UIDs of running jobs that had pods without a node at the last Update.
  const std::set<std::string>& incomplete() const { return incomplete_; }
  // Returns waiting jobs that began to wait, or whose queues changed, since the last call.
  std::set<std::string> TakeFresh() { return std::exchange(fresh_, {}); }
  QueueBook& book() { return book_; }
  const QueueBook& book() const { return book_; }
  bool has_queues() const { return has_queues_; }
  PriorityClass PriorityOf(const std::string& class_name) const {
    return priorities_.Of(class_name);
  }

 private:
  void LookAgain(const std::string& uid);
  void FollowKinds();
  void Index(const std::string& uid, QueueJobState::State before, QueueJobState::State state);
  void Look(absl::Time now, const std::string& uid, const kube::ObjectKey& key);
  void Read(QueueJobState& standing, const JobCache::Object& job) const;
  // Brings the inputs of the standing up to date; returns false if none has changed.
  bool Refresh(const std::string& uid, const Gang* gang, QueueJobState& standing) const;
  void UpdateEntry(absl::Time now, const std::string& uid, const Gang* gang,
                   QueueJobState& standing);
  void Leave(absl::Time now, const std::string& uid, QueueJobState& standing);
  // Saves how long the job has run, when it no longer runs.
  void NoteRan(absl::Time now, const std::string& uid, QueueJobState& standing) const;
  void Put(absl::Time now, QueueJobState& standing, QueuedJob job);

  const World world_;
  QueueBook book_;
  Priorities priorities_;
  bool has_queues_ = false;
  bool changed_ = true;
  bool recounted_ = false;
  GpuKindSet kinds_;  // kinds that waiting jobs may get
  uint64_t kind_changes_ = 0;
  std::map<std::string, kube::ObjectKey> touched_;
  std::set<std::string> incomplete_;
  std::set<std::string> fresh_;
  std::set<std::string> unmarked_;  // waiting jobs not yet checked for fitting nowhere
  uint64_t marked_at_ = 0;          // the WholeNodes version of the last check
  absl::flat_hash_map<std::string, QueueJobState> standings_;  // by job UID
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_SYNC_H_
