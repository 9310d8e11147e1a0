#ifndef MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_JOB_STATE_H_
#define MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_JOB_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/view.h"
#include "operator/objects/caches.h"
#include "operator/queue/queued_job.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/cluster/node_holders.h"

namespace muster::control {

// Where a job stands with its queue, and what of it that was made of.
struct JobStanding {
  enum class State {
    kOut,      // it has ended, is suspended, or its pods are not all there yet
    kWaiting,  // for its turn
    kRunning,  // some workers have nodes, or had and are being replaced
    kLeaving,  // all that is left of it is on its way out
  };

  kube::ObjectKey key;
  JobCache::Object job;  // null: gone
  // Of the spec with its defaults: workers, topology, queue, deadline; not the program.
  v1alpha1::TrainingJobSpec spec;
  State state = State::kOut;
  // Workers that are its own, whether they have nodes or are being replaced: 0 to entitled - 1.
  int entitled = 0;
  absl::Time started = absl::UnixEpoch();
  absl::Duration ran;  // before, as QueuedJob::ran
  QueuedJob queued;    // as the book has it, less what cycles change
  // The members, the job and the order that it was made of.
  uint64_t gang_version = 0;
  int64_t generation = -1;
  std::optional<int> limit;  // by its queue; 0: it is to stop
  // Of the status: for how long the job was active before it came to wait, and whose command has
  // ended, so that they need no pods.
  double active_seconds = 0;
  std::set<int> ended;
  size_t holders = 0;
  std::string shape;  // WholeNodes::ShapeOf, of one that waits; empty: not asked for yet
  bool stale = true;
};

// The limit that its queue has set, as the status says, or as it will once `pending` is written.
std::optional<int> LimitOf(const TrainingJob& job, const std::optional<QueueOrder>& pending);

// Whether nothing of it is to run: it has ended, is suspended, deleted, or another's.
bool IsOut(const JobStanding& standing);

// Workers that it is to have: workers.count, or fewer while its queue says so.
int WantedWorkers(const JobStanding& standing);

// Of its first so many workers, how many need pods: their commands have not ended.
int OpenWorkers(const JobStanding& standing, int workers);

// The gang has all its pods and none has a node.
bool IsWhole(const JobStanding& standing, const Gang& gang);

// A job that waits, with the pods that it would start with. It counts for each kind of GPU that the
// cluster may give it.
QueuedJob MakeWaiting(const JobStanding& standing, const Gang& gang, const ClusterModel& model);

// One that runs: worker i on nodes[i], "" where it is being replaced; then what is on its way out.
// `gang` may be null while all of it is being replaced: `standing.queued` tells what it was.
// All of it counts for each kind of GPU that its nodes have.
QueuedJob MakeRunning(const JobStanding& standing, const Gang* gang,
                      const NodeHolders::Pods& holders, const ClusterModel& model);

// All that is left of it is on its way out; at least one pod is.
QueuedJob MakeLeaving(const JobStanding& standing, const NodeHolders::Pods& holders,
                      const ClusterModel& model);

// Only the workers whose index is below `workers`, of those without a node.
Gang WorkersBelow(const Gang& gang, int workers);

// When it ends, by its ETA or its deadline, whichever is earlier; absent: endless.
std::optional<absl::Time> EndOf(const JobStanding& standing);
// Its last durable checkpoint, or when it started.
absl::Time CheckpointOf(const JobStanding& standing);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_JOB_STATE_H_
