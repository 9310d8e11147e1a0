#ifndef MUSTER_OPERATOR_CORE_STATE_VIEW_H_
#define MUSTER_OPERATOR_CORE_STATE_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/alerts/training_history.h"
#include "operator/core/state/ledger_book.h"
#include "operator/core/state/round_stamp.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// Everything that Decide() may use about one job, as plain values: the objects in the API, the
// agents' reports, and the time. The shell fills it; nothing here ever points into the shell.
namespace muster::control {

struct JobIdentity {
  std::string ns;
  std::string name;
  std::string uid;
  int64_t generation = 0;
  absl::Time created = absl::InfinitePast();  // wall
  bool deleting = false;                      // deletionTimestamp is set
  std::vector<std::string> finalizers;
  // The value of the annotation kSaveRequest (save_request.h); empty: none.
  std::string save_request;
};

// The container of a worker's pod in which the agent and the ranks run.
inline constexpr char kWorkerContainer[] = "worker";

// The end of a container, or of a rank in it.
struct ContainerEnd {
  std::string container;
  int exit_code = 0;  // 128+signal when killed
  int signal = 0;
  std::string reason;  // OOMKilled, Error, Completed, ...; for a rank, as in ExitReport
};

// A container that has not started yet; init containers too.
struct ContainerWait {
  std::string container;
  std::string reason;  // ContainerCreating, ImagePullBackOff, CreateContainerConfigError, ...
  std::string message;
};

// A condition of a pod or node.
struct ConditionView {
  std::string type;
  std::string status;
  std::string reason;
};

// The reason why a node whose object is gone is not Ready.
inline constexpr char kNodeDeleted[] = "NodeDeleted";
// The taint by which people declare a machine to be off, so that nothing runs on it any more.
inline constexpr char kOutOfService[] = "node.kubernetes.io/out-of-service";

// A taint of a node.
struct TaintView {
  std::string key;
  std::string value;
  std::string effect;
  bool operator==(const TaintView&) const = default;
};

// The labels of a node with the notice that its agent reports from the machine's cloud.
inline constexpr char kNoticeLabel[] = "muster.dev/notice";
inline constexpr char kNoticeWhoLabel[] = "muster.dev/notice.who";
inline constexpr char kNoticeDeadlineLabel[] = "muster.dev/notice.deadline";

// The notice in these labels.
struct NodeNotice {
  std::string kind;                    // Reclaim, Rebalance or Maintenance
  std::string who;                     // "AWS"
  std::optional<absl::Time> deadline;  // wall, in whole seconds; absent if the cloud names none
  bool operator==(const NodeNotice&) const = default;
};

// The price and the power of the share of its node that a pod takes. Absent: not known.
struct WorkerRates {
  std::optional<double> per_hour;  // money
  // The price of the same share on an on-demand node. Only a pod on a spot node has it.
  std::optional<double> on_demand_per_hour;
  std::optional<double> watts;
  bool operator==(const WorkerRates&) const = default;
};

// How much the GPUs of a pod's node are used, and how many of them the pod has.
struct NodeGpuUse {
  double use = 0;    // the mean of all GPUs of the node, 0 to 1
  double share = 0;  // the part of the node's GPUs that the pod has, 0 to 1
  bool operator==(const NodeGpuUse&) const = default;
};

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed, kUnknown };

// A worker's pod, of any incarnation.
struct PodView {
  std::string name;
  std::string uid;
  std::string resource_version;
  // The UID of the job that the pod names as its controller, if its labels and its name are those
  // of a worker of that job; else empty. To identify the owner, compare the namespace as well.
  std::string owner_uid;
  int index = 0;        // label muster.dev/index
  int incarnation = 0;  // label muster.dev/incarnation
  PodPhase phase = PodPhase::kPending;
  std::string node;  // empty until bound
  // The node that its affinity keeps it off; empty: none, or several.
  std::string avoided_node;
  bool deleting = false;
  bool ready = false;
  // The exit code of the container `worker` once it has terminated; 128+signal when killed.
  std::optional<int> exit_code;
  bool others_left = false;  // a container other than `worker` has not ended
  std::string reason;        // the pod's or the container's: OOMKilled, Evicted, NodeLost, ...
  std::string message;
  // Every container that has terminated, including `worker`.
  std::vector<ContainerEnd> ended;
  // Every container that waits, in the order in which they start.
  std::vector<ContainerWait> waiting;
  std::vector<ConditionView> conditions;
  std::vector<ConditionView> node_conditions;  // of its node; empty if not known
  std::vector<TaintView> node_taints;          // of its node; empty if not known
  std::optional<NodeNotice> node_notice;       // of its node
  // Sentences from its node's conditions about a broken GPU, the network between nodes, and the
  // machine itself; empty: no fault.
  std::string gpu_fault;
  std::string network_fault;
  std::string machine_fault;
  // The wall time at which kubelet accepted it, soon after it was bound; InfinitePast: not known.
  absl::Time accepted = absl::InfinitePast();
  WorkerRates rates;
  std::optional<NodeGpuUse> gpu_use;  // absent: not measured, or the pod has no GPUs
  // The network domains of its node, from broad to narrow, as placement/topology_labels.h finds
  // them among the job's nodes; empty if they are not known, or if no policy of the job needs them.
  std::vector<std::string> node_domains;
};

// Reports of one agent, as its newest session sent them, the latest of each kind. Decide() ignores
// those of rounds that are no longer wanted.
struct ReadyReport {
  RoundStamp round;
  std::vector<v1alpha1::RankReady> ranks;  // by local rank
};
// The speed of a link between two ranks of different workers.
struct LinkReport {
  int rank = 0;
  int peer = 0;
  double bytes_per_second = 0;
};
struct JoinedReport {
  RoundStamp round;
  std::string error;           // empty: joined
  std::string bad_checkpoint;  // the directory that turned out unusable, if that was the cause
  v1alpha1::Version version;
  std::string trajectory;      // the digest of the spec by which its ranks train
  int64_t restored_bytes = 0;  // that its ranks read, or received from others
  double restore_seconds = 0;  // of the slowest of them
  bool undecided = false;      // with `error`: states differ, and nothing tells which is right
  std::vector<LinkReport> links = {};  // that its ranks measured before the round's first step
};
struct FinishedReport {
  RoundStamp round;
  bool succeeded = false;
  int exit_code = 0;
  std::string message;
  v1alpha1::Version version;
  int64_t durable_step = -1;  // on disk and whole; -1: none that the worker knows of
};
// Exits and stalls are lists. Those of rounds before RoundMemory.active_round have been handled,
// and the shell may drop them; showing them again changes nothing.
struct ExitReport {
  RoundStamp round;
  int local_rank = 0;
  int rank = 0;
  int exit_code = 0;  // 0..255, or 128+signal
  int signal = 0;
  bool restarted = false;
  std::string reason;  // DeadlineExceeded | Exited | Signaled | OOMKilled | LinkLost
  std::string log_tail;
};
struct StallReport {
  RoundStamp round;
  int local_rank = 0;
  v1alpha1::Version version;
  std::string error;
};

// One worker agent known to the coordinator: attached now, or earlier in this leadership.
struct AgentView {
  int index = 0;
  int incarnation = 0;
  std::string pod_uid;
  bool attached = false;
  // Counts the streams of this leadership: an order sent on an older stream may be lost.
  int64_t session = 0;
  // Monotonic times: the stream opened; it was lost (attached == false); its last message.
  absl::Time attached_at = absl::InfinitePast();
  absl::Time detached_at = absl::InfinitePast();
  absl::Time last_heard = absl::InfinitePast();
  int ranks = 0;
  std::string host;
  // Fields of the newest AgentHello.
  RoundStamp seen;
  RoundStamp active;
  int first_rank = 0;  // of its ranks in `active`
  // Its ranks load before their first round; a round that it joins now would have to wait for them.
  bool loading = false;
  // The endpoint at which it serves replicas of workers' copies, and the workers whose copies it
  // has; empty if it serves none.
  std::string replica_endpoint;
  std::vector<int> replicas_of;
  std::optional<ReadyReport> ready;
  std::optional<JoinedReport> joined;
  std::optional<FinishedReport> finished;
  std::vector<ExitReport> exits;
  std::vector<StallReport> stalls;
};

// How busy the ranks were in the last completed window of five minutes, and which was the busiest.
struct BusyView {
  int64_t round = 0;
  int rank = 0;
  int64_t steps = 0;  // steps that were counted
  double share = 0;   // the part of these steps in which `rank` was the busiest
  double factor = 1;  // the busy time of a step's busiest rank, divided by the ranks' mean
  double busy = 1;    // the mean part of the time in which the ranks were busy
};

// A step that the ranks judged to be a spike. `why` is a sentence with the numbers.
struct SpikeView {
  int64_t step = 0;
  std::string why;
};

struct ProgressView {
  // The newest step that is committed on every rank of its round.
  std::optional<v1alpha1::StepReport> latest;
  std::optional<double> validation_loss;  // the newest one reported
  double tokens_per_second = 0;           // smoothed by the shell; 0: not known
  double steps_per_second = 0;            // smoothed by the shell; 0: not known
  // All steps reported since this process began to listen, and the sum of their times.
  int64_t steps_seen = 0;
  StepTimes times;
  std::optional<BusyView> busy;
  // The job's tunings that were seen in force, in order; step 0: only a later one was seen.
  std::vector<v1alpha1::Tuning> tunings;
  std::optional<SpikeView> spike;  // the newest one reported
};

struct CheckpointView {
  std::optional<v1alpha1::CheckpointReport> written;  // newest WRITTEN
  std::optional<v1alpha1::CheckpointReport> failed;   // newest FAILED, if later than `written`
  std::optional<v1alpha1::CheckpointReport> begun;    // newest STARTED, if neither has followed
};

// An order of the job's queue: run at most this many workers; 0: all stop.
struct QueueOrder {
  int workers = 0;
  std::string reason;  // a reason of operator/queue, e.g. Reclaimed
  std::string sentence;
  absl::Time time;  // wall; the order is new if this is later than the time in status.preemption
  bool operator==(const QueueOrder&) const = default;
};

// The scheduling cycle's findings on the job's pods.
struct PlacementView {
  // The reason why some pods have no node; empty if nothing is wrong, or before the first cycle.
  std::string reason;  // a reason of operator/placement, e.g. Insufficient
  std::string sentence;
  // The placement of those pods that have a node.
  double score = 0;  // 0: not known
  std::string level;
  std::string domain;
  // True if `reason` is about the queue, not about the cluster.
  bool queued = false;
  std::optional<QueueOrder> order;  // the newest of this leadership
  bool operator==(const PlacementView&) const = default;
};

struct JobView {
  absl::Time now;   // monotonic, for every deadline
  absl::Time wall;  // wall clock, for times in the status
  JobIdentity job;
  v1alpha1::TrainingJobSpec spec;  // defaulted
  // The template's `worker` has a livenessProbe or startupProbe, for which kubelet may end it.
  bool probed = false;
  std::vector<std::string> spec_errors;  // from operator/api's validation
  std::string refused_change;  // a change that is not in `spec`, in a sentence; see sources.h
  v1alpha1::TrainingJobStatus status;  // as observed, never as last planned
  std::vector<PodView> pods;
  std::vector<AgentView> agents;
  ProgressView progress;
  // Monotonic: from this time on the status may be written for progress alone, which bounds the
  // writes of all jobs together. InfiniteFuture: ask for a turn (Plan::wants_progress_slot).
  absl::Time progress_slot = absl::InfinitePast();
  TrainingHistory history;  // empty for a job without alert rules
  CheckpointView checkpoint;
  // False: too many other jobs may be writing to the job's storage; ask for a turn (SaveTurn).
  bool may_save = true;
  PlacementView placement;
  // The reason why the API server does not store fields that the status must have; empty if it
  // stores them.
  std::string status_fault;
  // Monotonic: all that agents sent before this time has been read. Silence after it proves
  // nothing.
  absl::Time heard_until = absl::InfiniteFuture();
  // This leadership's term, and the (monotonic) time since which its coordinator answers.
  int64_t leader_term = 0;
  absl::Time leading_since;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_VIEW_H_
