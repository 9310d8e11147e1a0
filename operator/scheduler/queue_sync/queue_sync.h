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
#include "operator/queue/queue_book.h"
#include "operator/queue/queue_spec.h"
#include "operator/queue/quota_amounts.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/cluster/node_holders.h"
#include "operator/scheduler/gang/whole_nodes.h"
#include "operator/scheduler/queue_sync/queue_job_state.h"

namespace muster::control {

// The QueueBook as the caches and the model say it is: jobs wait once all their pods are there, run
// with the workers that have nodes, and leave when they were told to, until their pods are gone.
// Only jobs that something happened to are looked at. What it refers to must outlive it. Not
// thread-safe.
class JobBook {
 public:
  struct World {
    const JobCache& jobs;
    const ClusterModel& model;
    const NodeHolders& holders;
    const Verdicts& verdicts;
  };

  JobBook(const World& world, const BookOptions& options);

  // Take effect at the next Update, for all jobs.
  void SetQueues(absl::Time now, const std::vector<QueueSpec>& queues);
  void SetPriorities(const PriorityCache& classes);
  // What queues used under the leader before.
  void RememberPast(absl::Time now,
                    const std::map<std::string, std::map<std::string, double>>& past_use) {
    book_.RememberPast(now, past_use);
  }
  // What the cluster has; shares are parts of it.
  void SetCapacity(const Amounts& capacity);

  // Something of the job may have changed: its object, its pods, an order.
  void Touch(const std::string& uid, const kube::ObjectKey& job) { touched_[uid] = job; }
  void Touch(const std::string& uid);
  // Brings the book up to date with what was touched. `now` is the wall clock's.
  void Update(absl::Time now);
  // Whether a cycle might decide otherwise than the last one did, as far as the book goes.
  bool TakeChanged() { return std::exchange(changed_, false); }
  // Whether jobs that run have come to count for other resources since the last call.
  bool TakeRecounted() { return std::exchange(recounted_, false); }

  // Says of those that wait whether they fit nowhere, where that may have changed. Without queues
  // nobody holds up others, and nobody is told so.
  void MarkThoseThatFitNowhere(WholeNodes& nodes);

  // It started with so many workers, or has as many from now on. Those it loses are its own still.
  void Entitle(const std::string& uid, int workers, absl::Time now);
  // It lost all of them and has no place: it waits again.
  void Demote(const std::string& uid);

  // Null: not known.
  const JobStanding* Find(const std::string& uid) const;
  const absl::flat_hash_map<std::string, JobStanding>& all() const { return standings_; }
  // Jobs that run and had pods without a node at the last Update, by UID.
  const std::set<std::string>& incomplete() const { return incomplete_; }
  // Jobs that wait and that have come to since the last call, or whose queues have changed.
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
  void Index(const std::string& uid, JobStanding::State before, JobStanding::State state);
  void Look(absl::Time now, const std::string& uid, const kube::ObjectKey& key);
  void Read(JobStanding& standing, const JobCache::Object& job) const;
  // False when all that the standing is made of is as it was.
  bool Refresh(const std::string& uid, const Gang* gang, JobStanding& standing) const;
  void Judge(absl::Time now, const std::string& uid, const Gang* gang, JobStanding& standing);
  void Leave(absl::Time now, const std::string& uid, JobStanding& standing);
  // It runs no more, or not for now.
  void NoteRan(absl::Time now, const std::string& uid, JobStanding& standing) const;
  void Put(absl::Time now, JobStanding& standing, QueuedJob job);

  const World world_;
  QueueBook book_;
  Priorities priorities_;
  bool has_queues_ = false;
  bool changed_ = true;
  bool recounted_ = false;
  GpuKindSet kinds_;  // that those that wait may get
  uint64_t kind_changes_ = 0;
  std::map<std::string, kube::ObjectKey> touched_;
  std::set<std::string> incomplete_;
  std::set<std::string> fresh_;
  std::set<std::string> unmarked_;  // that wait, and of which nobody has said whether they fit
  uint64_t marked_at_ = 0;          // the nodes' version
  absl::flat_hash_map<std::string, JobStanding> standings_;  // by job UID
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_SYNC_H_
