#ifndef MUSTER_OPERATOR_SCHEDULER_SCHEDULER_H_
#define MUSTER_OPERATOR_SCHEDULER_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "operator/core/state/view.h"
#include "operator/kube/api.h"
#include "operator/objects/caches.h"
#include "operator/objects/priority_class.h"
#include "operator/objects/verdicts.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/topology_labels.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/refusal_memo.h"
#include "operator/queue/schedule.h"
#include "operator/scheduler/bind/bind_tracker.h"
#include "operator/scheduler/bind/decision_executor.h"
#include "operator/scheduler/bind/partial_bind_rollback.h"
#include "operator/scheduler/bind/placement_publisher.h"
#include "operator/scheduler/bind/pod_writer.h"
#include "operator/scheduler/bind/worker_replacer.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/cluster/node_holders.h"
#include "operator/scheduler/cluster/scheduler_feed.h"
#include "operator/scheduler/explain/capacity_report.h"
#include "operator/scheduler/explain/placement_questions.h"
#include "operator/scheduler/explain/placement_report.h"
#include "operator/scheduler/gang/gang_placer.h"
#include "operator/scheduler/gang/node_eligibility.h"
#include "operator/scheduler/gang/whole_nodes.h"
#include "operator/scheduler/queue_sync/queue_report.h"
#include "operator/scheduler/queue_sync/queue_sync.h"
#include "operator/scheduler/record/decision_recorder.h"

namespace muster::control {

struct SchedulerOptions {
  // Label keys, broad to narrow; empty: the topology is found in the labels.
  std::vector<std::string> topology_levels;
  // True if other threads call writer().WaitAndRun(); otherwise RunOnce carries out its decisions.
  bool writes_apart = false;
  // Number of those threads.
  int write_threads = 1;
  // A gang that is bound in part for this long, and too small to run, is undone: its bound pods are
  // deleted, and their replacements wait for the whole gang. Must leave time for the writes.
  absl::Duration undo_after = absl::Seconds(5);
  // Time limit for volumes that are made or given once the gang has its places.
  absl::Duration volume_deadline = absl::Minutes(5);
  BookOptions book;
  // Gets the input of each decision, for `muster replay`; null: nothing is kept.
  DecisionRecorder* recorder = nullptr;
  // If there are no queues, no job holds a place for another, and every job is looked at.
  ScheduleOptions queues;
};

// The work of all cycles so far: bounded by what happens, not by how many jobs wait.
struct SchedulerWork {
  int64_t partial_bind_checks = 0;  // of gangs that might be bound in part
  int64_t overtaken_reports = 0;    // verdicts that say that others are ahead
};

// The scheduling cycle: the shell around operator/queue's Schedule(). It groups the pods of each
// job into a gang, follows the caches with one model of the cluster and one book of the queues,
// places replacements of lost workers near the others, has Schedule decide whose turn it is and who
// makes room, and carries that out: it binds gangs, gives orders to jobs, and writes refusals to
// every pod and to the controller. A promise counts at once, so that nothing is promised twice.
// RunOnce is for one thread; the rest is thread-safe.
class Scheduler {
 public:
  using Refusal = PlacementRefusal;
  using Forecast = PlacementForecast;

  // Follows the caches from now on; they must still be empty. `on_verdict` gets the key of a job
  // whose verdict changed; `wake` is called when RunOnce has something to do.
  Scheduler(
      kube::Api& api, const Clock& clock, JobCache& jobs, PodCache& pods, NodeCache& nodes,
      std::function<void(const std::string& job_key)> on_verdict, SchedulerOptions options = {},
      std::function<void()> wake = [] {});
  // Follows these caches too from now on; they must still be empty. Until this call there is one
  // queue without a quota, and every priority is 0.
  void FollowQueues(QueueCache& queues, PriorityCache& priorities);

  // Replaces the options' levels from the next cycle on.
  void SetTopologyLevels(std::vector<std::string> keys);

  // Adds a change of namespaces or storage; all are applied in order before the next decision.
  void Change(std::function<void(ClusterSnapshot&)> change) { feed_.Change(std::move(change)); }

  // Takes in the caches' changes without deciding anything; for a replica that does not lead.
  void Follow();

  // Runs one cycle over everything that waits. Returns the number of pods that were found bound by
  // decisions made here since the last call.
  int RunOnce();

  // Where each job's workers are, or why they have no place.
  const Verdicts& verdicts() const { return verdicts_; }
  int64_t binds() const;
  // Number of gangs that were bound in part and undone.
  int64_t undone() const;
  // Nodes whose topology labels contradict others', as last read.
  std::vector<TopologyFinding> TopologyFindings() const;
  // Number of nodes that are set aside, by fault, as last read.
  std::map<NodeFault, int64_t> NodeFaults() const;

  // Reports for people: how the job's gang stands, where a hypothetical one would go, the cluster,
  // and the queues. The report about a job without pods has no workers.
  GangReport Explain(const TrainingJob& job) const;
  Forecast WhatIf(const TrainingJob& job, const PodRecord& pod) const;
  DomainReport Tree(int depth) const;
  // The number of nodes and GPUs by state. O(nodes).
  CapacityReport Capacity() const;
  // Each queue has at most `most_jobs` of its waiting jobs, in their order.
  std::vector<QueueReport> Queues(int most_jobs) const;
  SchedulerWork work() const;
  // Number of decisions by action: "Start", "Stop", ...
  std::map<std::string, int64_t> decisions() const;

  PodWriter& writer() { return writer_; }

 private:
  using Step = void (Scheduler::*)();
  static const Step kCycle[];

  void TakeInChanges() MUSTER_REQUIRES(model_mu_);
  void TakeWritten() MUSTER_REQUIRES(model_mu_);
  void ForgetGone() MUSTER_REQUIRES(model_mu_);
  void RepeatWrites() MUSTER_REQUIRES(model_mu_);
  void ReadCapacity() MUSTER_REQUIRES(model_mu_);
  void RestorePastUse() MUSTER_REQUIRES(model_mu_);
  void RefuseWithoutVolumes() MUSTER_REQUIRES(model_mu_);
  void ReportFindings() MUSTER_REQUIRES(model_mu_);
  void SyncQueues() MUSTER_REQUIRES(model_mu_);
  void ReplaceLostWorkers() MUSTER_REQUIRES(model_mu_);
  void Decide() MUSTER_REQUIRES(model_mu_);
  void ReportPendingGrowth() MUSTER_REQUIRES(model_mu_);
  void PublishDelayed() MUSTER_REQUIRES(model_mu_);
  void RollBackPartialBinds() MUSTER_REQUIRES(model_mu_);

  void ReadQueues() MUSTER_REQUIRES(model_mu_);
  bool MustDecide() MUSTER_REQUIRES(model_mu_);
  ScheduleOptions OptionsOfCycle() const MUSTER_REQUIRES(model_mu_);
  // Returns what is wrong with the priority class, or nothing.
  std::string PriorityComplaint(const std::string& class_name) const;

  const Clock& clock_;
  const JobCache& jobs_;
  const SchedulerOptions options_;
  const std::function<void()> wake_;
  PodWriter writer_;
  SchedulerFeed feed_;
  Verdicts verdicts_;
  const QueueCache* queues_ = nullptr;
  const PriorityCache* priorities_ = nullptr;

  // Held while a cycle decides, not while it writes. Reports and forecasts leave the model
  // unchanged.
  mutable Mutex model_mu_;
  mutable ClusterModel model_ MUSTER_GUARDED_BY(model_mu_);
  mutable NodeEligibility gate_ MUSTER_GUARDED_BY(model_mu_);
  NodeHolders holders_ MUSTER_GUARDED_BY(model_mu_);
  WholeNodes whole_nodes_ MUSTER_GUARDED_BY(model_mu_);
  QueueSync book_ MUSTER_GUARDED_BY(model_mu_);
  BindTracker writes_ MUSTER_GUARDED_BY(model_mu_);
  PartialBindRollback rollback_ MUSTER_GUARDED_BY(model_mu_);
  PlacementPublisher publisher_ MUSTER_GUARDED_BY(model_mu_);
  DecisionExecutor executor_ MUSTER_GUARDED_BY(model_mu_);
  WorkerReplacer replacer_ MUSTER_GUARDED_BY(model_mu_);
  DecisionNotes notes_ MUSTER_GUARDED_BY(model_mu_);
  // Used by RunOnce's thread only.
  std::vector<TopologyFinding> reported_;  // as last logged
  RefusalMemo refused_;
  uint64_t refused_at_ = 0;  // model's changes() of `refused_` and the executor's memory
  uint64_t decided_at_ = 0;  // model's changes() at the last cycle
  uint64_t capacity_at_ = 0;
  bool past_use_restored_ = false;
  int64_t overtaken_ MUSTER_GUARDED_BY(model_mu_) = 0;
  int bound_ MUSTER_GUARDED_BY(model_mu_) = 0;  // pods found bound since RunOnce() last returned
  absl::Time decide_again_ = absl::InfinitePast();

  mutable Mutex mu_;
  std::vector<TopologyFinding> findings_ MUSTER_GUARDED_BY(mu_);
  std::map<NodeFault, int64_t> node_faults_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, int64_t> decisions_ MUSTER_GUARDED_BY(mu_);
  int64_t binds_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t undone_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_SCHEDULER_H_
