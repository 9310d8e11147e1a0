#ifndef MUSTER_OPERATOR_APP_REPLICA_H_
#define MUSTER_OPERATOR_APP_REPLICA_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "operator/app/cluster_watch.h"
#include "operator/coordinator/node_board.h"
#include "operator/coordinator/progress/progress_board.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "operator/core/state/options.h"
#include "operator/cost/price_table.h"
#include "operator/kube/api.h"
#include "operator/kube/cache/reflector.h"
#include "operator/kube/lease.h"
#include "operator/kube/wrap/fenced_api.h"
#include "operator/kube/wrap/observed_api.h"
#include "operator/metrics/metrics.h"
#include "operator/nodes/node_tainter.h"
#include "operator/nodes/node_writer.h"
#include "operator/notify/notifier.h"
#include "operator/objects/caches.h"
#include "operator/objects/event_recorder.h"
#include "operator/objects/object_warnings.h"
#include "operator/reconcile/controller.h"
#include "operator/reconcile/executor.h"
#include "operator/reconcile/fan_out.h"
#include "operator/reconcile/pod/pod_builder.h"
#include "operator/reconcile/urgency.h"
#include "operator/reconcile/work_queue.h"
#include "operator/scheduler/queue_sync/queue_status.h"
#include "operator/scheduler/scheduler.h"

namespace muster::control {

// The annotation of the Lease that holds the address of the leader's coordinator.
inline constexpr char kCoordinatorAnnotation[] = "muster.dev/coordinator";

struct ReplicaOptions {
  // Watches only jobs of this namespace; empty: of all.
  std::string namespace_scope;
  // The source of events; with an election also the candidate's name.
  std::string identity;
  // If absent, this replica is the only one. `identity` and `annotations` are filled in.
  std::optional<kube::LeaseConfig> election;
  // The period of full resyncs, which make up for missed events.
  absl::Duration resync = absl::Minutes(10);
  // Spreads the retries of lists and watches over time, in [0, 1); thread-safe. Empty: no spread.
  std::function<double()> jitter;
  // The operator's namespace, if each job is to have a NetworkPolicy; else empty.
  std::string policy_namespace;
  // Creates a job's pods, several at a time; must outlive the replica. If null, one by one.
  FanOut* fan_out = nullptr;
  // Sends alerts of jobs to their receivers; must outlive the replica. If null, none are sent.
  Notifier* notifier = nullptr;
  // The prices of nodes; must outlive the replica. If null, only nodes themselves name prices.
  const PriceTable* prices = nullptr;
  DecideOptions decide;
  SchedulerOptions scheduler;
  // Events are sent by the caller of events().WaitAndRun() if true, else by the recording thread.
  bool events_apart = false;
  // Nodes with a broken GPU are tainted.
  bool taint_unhealthy_nodes = false;
  // The Kueue Topology that defines the levels; empty: none.
  std::string kueue_topology;
};

// One operator without threads and servers: every loop is a function that runs one iteration.
//
// clang-format off
//   standby: caches are kept warm, agents get NotLeader
//     -> acquired: jobs, pods and nodes are listed anew
//     -> leading: reconciles run; once no write of the last leader can be under way, pods are
//        listed again and the first pod is bound. A released lease needs no such wait, because its
//        holder had ended its writes.
//     -> lost (final): nothing is written any more; the process must end
// clang-format on
//
// Elect is called by one thread, Schedule by another, each reflector by one; Reconcile may be
// called by several threads with different keys. The rest is thread-safe.
class Replica {
 public:
  // `lease_clock` counts the time in which the machine is suspended (Clock::Boot); `clock` may not.
  Replica(kube::Api& api, const Clock& clock, const Clock& lease_clock, ReplicaOptions options);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Called before any loop: sets the options of pods, and the address that the lease advertises.
  void Connect(PodBuilderOptions pods, const std::string& coordinator);
  // Sets a callback for changes that may give Schedule work.
  void OnWork(std::function<void()> wake) { wake_ = std::move(wake); }

  // See ClusterWatch for these.
  std::vector<kube::Reflector*> reflectors() { return watch_.reflectors(); }
  std::vector<kube::Reflector*> side_reflectors() { return watch_.side_reflectors(); }
  bool HasSynced() const { return watch_.HasSynced(); }
  ClusterWatch::ListFailure list_failure() const { return watch_.list_failure(); }

  // Runs one step of the election and acts on its outcome. Returns when to call it again, by
  // `lease_clock`.
  absl::Time Elect();
  bool IsLeading() const { return leading_; }
  // Not OK after the lease was lost.
  absl::Status lost() const;
  // Releases the lease; called after every other loop has ended for good.
  absl::Status Release();

  // Reconciles one key of the queue; returns false if none is ready.
  bool ReconcileNext();
  void Reconcile(const std::string& key);
  // Runs one scheduling cycle, and the resync if it is due. Returns the number of pods bound.
  int Schedule();
  // Reads the Kueue Topology if it is due. Called periodically, leading or not; nothing is
  // scheduled before the first attempt to read it.
  void FollowTopology();
  // Writes the queues' status while leading; called periodically. Returns the number of writes.
  int WriteQueues();
  // Writes the reports of node agents to their nodes, and taints unhealthy nodes if that is
  // enabled, while leading; called periodically. Returns the number of writes.
  int WriteNodes();
  // Emits events about contradictions in objects while leading; called periodically. Returns the
  // number of events.
  int Warn();
  // Queues every job for a reconcile.
  void Resync();

  WorkQueue& queue() { return queue_; }
  const JobCache& jobs() const { return watch_.jobs(); }
  const PodCache& pods() const { return watch_.pods(); }
  const NodeCache& nodes() const { return watch_.nodes(); }
  AgentRegistry& registry() { return registry_; }
  NodeBoard& node_board() { return node_board_; }
  ProgressBoard& progress() { return progress_; }
  const Controller& controller() const { return *controller_; }
  const Scheduler& scheduler() const { return scheduler_; }
  // The owner of the replica calls WaitAndRun on it if scheduler.writes_apart is set.
  PodWriter& pod_writer() { return scheduler_.writer(); }
  EventRecorder& events() { return events_; }
  Metrics& metrics() { return metrics_; }
  // The lease's holder as last seen, and its transitions; empty and 0 without an election.
  std::string lease_holder() const { return elector_ == nullptr ? "" : elector_->holder(); }
  int64_t lease_term() const { return elector_ == nullptr ? 0 : elector_->term(); }
  // The API for writes that users request from this replica; it fails unless the replica leads.
  kube::Api& fenced_api() { return api_; }
  // The API for reads and writes of every replica, leading or not; counted in the metrics.
  kube::Api& observed_api() { return open_api_; }

 private:
  absl::Status CheckLeading() const;
  absl::Duration LongestWrite() const;
  void StepElection();
  void TakeOver();
  void Lead();
  void Lose(const absl::Status& why);
  void LogLeaseFailure(const absl::Status& why);
  void UpdateStandbyAddress();
  void DeferNonUrgentWork(bool held);

  const Clock& clock_;
  const Clock& lease_clock_;
  const ReplicaOptions options_;

  Metrics metrics_;
  kube::ObservedApi open_api_;
  kube::FencedApi api_;
  WorkQueue queue_;
  Urgency urgency_;
  ClusterWatch watch_;
  ProgressBoard progress_;
  AgentRegistry registry_;
  NodeBoard node_board_;
  EventRecorder events_;
  Scheduler scheduler_;
  QueueStatusWriter queue_status_;  // used by WriteQueues' thread
  ObjectWarnings warnings_;         // used by WriteQueues' thread
  NodeWriter node_writer_;          // used by WriteQueues' thread
  NodeTainter node_tainter_;        // used by WriteQueues' thread
  // Set by Connect.
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<kube::LeaderElector> elector_;
  std::function<void()> wake_ = [] {};

  // Used by Elect's thread.
  absl::Time next_step_ = absl::InfinitePast();  // by lease_clock_
  absl::Time acquired_at_ = absl::InfiniteFuture();
  absl::Time bind_from_ = absl::InfiniteFuture();

  std::atomic<bool> leading_{false};
  std::atomic<bool> may_bind_{false};
  bool writes_nodes_ = false;  // WriteQueues' thread
  std::atomic<bool> topology_asked_;
  absl::Time next_topology_ = absl::InfinitePast();  // FollowTopology's thread
  absl::Time next_resync_ = absl::InfiniteFuture();  // Schedule's thread

  mutable Mutex mu_;
  absl::Time confirmed_at_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();
  absl::Status lost_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_REPLICA_H_
