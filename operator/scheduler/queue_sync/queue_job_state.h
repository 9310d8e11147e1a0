#ifndef MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_JOB_STATE_H_
#define MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_JOB_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/state/view.h"
#include "operator/objects/caches.h"
#include "operator/queue/book/queued_job.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/cluster/node_holders.h"

namespace muster::control {

// A job's standing with its queue, and the inputs that it was derived from.
struct QueueJobState {
  enum class State {
    kOut,      // it has ended, is suspended, or some of its pods are missing
    kWaiting,  // it waits for its turn
    kRunning,  // some workers have nodes, or had and are being replaced
    kLeaving,  // all that is left of it is being deleted
  };

  kube::ObjectKey key;
  JobCache::Object job;  // null: gone
  // The spec with its defaults, reduced to what queues need: workers, topology, queue, priority
  // class, deadline, suspend, managedBy; not the program.
  v1alpha1::TrainingJobSpec spec;
  std::vector<int> larger_sizes;   // LargerSizes() of the whole spec
  std::vector<int> offered_sizes;  // those of them that the queue may give it now
  State state = State::kOut;
  // Number of workers that are its own, with nodes or being replaced: indices 0 to entitled - 1.
  int entitled = 0;
  absl::Time started = absl::UnixEpoch();
  absl::Duration ran;  // in earlier runs, as QueuedJob::ran
  QueuedJob queued;    // as in the book, less what cycles change
  // Versions of the gang and the job, and the order, that the standing was derived from.
  uint64_t gang_version = 0;
  int64_t generation = -1;
  std::optional<int> limit;  // by its queue; 0: it is to stop
  int requested = 0;         // RequestedSize()
  // Copies from the status: how long the job was active before it came to wait, in seconds, and the
  // workers whose commands have ended, which need no pods.
  double active_seconds = 0;
  std::set<int> ended;
  size_t holders = 0;
  std::string shape;  // WholeNodes::ShapeOf of a waiting job; empty: not computed yet
  bool stale = true;
};

// Returns the limit that the job's queue has set, by the status or by `pending`, yet to be written.
// A job that grows by itself, or has spares, always has one: workers.count, or the larger size that
// it was given.
std::optional<int> LimitOf(const QueueJobState& standing, const std::optional<QueueOrder>& pending);

// Returns true if no worker is to run: the job has ended, is suspended, deleted, or managed by
// another.
bool IsNotQueued(const QueueJobState& standing);

// Returns how many workers the job is to have: workers.count, or what its queue limits it to.
int WantedWorkers(const QueueJobState& standing);

// Returns how many of the first `workers` workers need pods: those whose commands have not ended.
int OpenWorkers(const QueueJobState& standing, int workers);

// Returns true if the gang has all its pods and none has a node.
bool IsWhole(const QueueJobState& standing, const Gang& gang);

// Makes the queue's entry for a waiting job, with the pods that it would start with. The job counts
// for each kind of GPU that the cluster may give it.
QueuedJob MakeWaiting(const QueueJobState& standing, const Gang& gang, const ClusterModel& model);

// Makes the queue's entry for a running job: worker i on nodes[i], "" if it is being replaced, then
// the nodes of pods that are being deleted. `gang` may be null while all workers are being
// replaced; `standing.queued` has their shape then. The whole job counts for each kind of GPU that
// its nodes have.
QueuedJob MakeRunning(const QueueJobState& standing, const Gang* gang,
                      const NodeHolders::Pods& holders, const ClusterModel& model);

// Makes the queue's entry for a job all of whose pods are being deleted; there is at least one.
QueuedJob MakeLeaving(const QueueJobState& standing, const NodeHolders::Pods& holders,
                      const ClusterModel& model);

// Returns the gang less the pods without a node whose worker index is not below `workers`.
Gang WorkersBelow(const Gang& gang, int workers);

// Returns when the job ends, by its ETA or its deadline, whichever is earlier; nullopt if endless.
std::optional<absl::Time> EndOf(const QueueJobState& standing);
// Returns the time of the job's last durable checkpoint, or of its start if that is later.
absl::Time CheckpointOf(const QueueJobState& standing);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_JOB_STATE_H_
