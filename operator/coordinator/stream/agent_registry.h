#ifndef MUSTER_OPERATOR_COORDINATOR_STREAM_AGENT_REGISTRY_H_
#define MUSTER_OPERATOR_COORDINATOR_STREAM_AGENT_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "operator/coordinator/progress/progress_board.h"
#include "operator/coordinator/stream/agent_bounds.h"
#include "operator/coordinator/stream/stream_quota.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::control {

// A message to agents in wire format: serialised once, and shared by all streams and queues that
// hold it. Never null.
using EncodedMessage = std::shared_ptr<const std::string>;
EncodedMessage Encode(const v1alpha1::OperatorMessage& message);
// Returns a standby's answer, which names the leader's address; it may be empty.
EncodedMessage EncodeNotLeader(const std::string& leader_address);

// One agent's stream as the registry sees it. Calls are made with the registry's lock held: an
// implementation must not call back into the registry and must not block.
class AgentStream {
 public:
  virtual ~AgentStream() = default;
  // Queues `message`. Returns kResourceExhausted if the peer reads too slowly.
  virtual absl::Status Send(EncodedMessage message) = 0;
  // Ends the stream after the queued messages have been sent.
  virtual void Close(const absl::Status& reason) = 0;
};

// The latest reports of one worker, across the streams of one incarnation.
struct AgentState {
  static constexpr size_t kMaxFailures = 64;
  static constexpr size_t kMaxLogTails = size_t{256} << 10;  // the bytes of all of `exits`

  v1alpha1::WorkerId worker;
  bool attached = false;
  // The number of its stream; an order sent on an older one may be lost.
  int64_t session = 0;
  // Monotonic times; InfinitePast: never.
  absl::Time attached_at = absl::InfinitePast();
  absl::Time detached_at = absl::InfinitePast();
  absl::Time last_heard = absl::InfinitePast();
  int32_t ranks = 0;
  std::string host;
  std::string version;
  v1alpha1::RoundId seen;
  v1alpha1::RoundId active;
  int first_rank = 0;    // in `active`, as of the hello
  bool loading = false;  // as it said last
  std::optional<v1alpha1::WorkerReady> ready;
  std::optional<v1alpha1::WorkerJoined> joined;
  std::optional<v1alpha1::WorkerFinished> finished;
  // Failures not yet taken into account (DropFailuresBefore()), in order of arrival, the newest
  // kMaxFailures. An event that is sent again is kept once. The first exits keep their log tails,
  // up to kMaxLogTails.
  std::vector<v1alpha1::RankExited> exits;
  std::vector<v1alpha1::RankStalled> stalls;
  std::optional<v1alpha1::OrderRefused> refused;
  std::optional<v1alpha1::ReplicasKept> replicas;
};

// The addressee of an order: one pod's agent, not its successor.
struct OrderTarget {
  std::string job_uid;
  int32_t index = 0;
  int32_t incarnation = 0;
  std::string pod_uid;
};

// A job that agents may attach to.
struct JobRegistration {
  std::string key;  // namespace/name, as in the work queue
  std::string uid;
  int64_t term = 0;
  // The spec that agents get; null: an empty one. A changed spec must be another pointer, because
  // registrations are compared by it.
  std::shared_ptr<const v1alpha1::TrainingJobSpec> spec;
  std::vector<int32_t> incarnations;  // by worker index, as recorded in status
  absl::Duration orphan_deadline = absl::Seconds(60);
  absl::Duration prepare_deadline = absl::Seconds(60);
  bool operator==(const JobRegistration&) const = default;
};

// Tracks which agents are attached to each job, and the latest reports of each worker. The
// controller registers a job once its term is in the job's status; agents of unknown jobs are told
// to retry. Thread-safe. `on_change` is called without the lock, with the key of a job that has
// changed.
class AgentRegistry {
 public:
  // Agents are told to send something at least this often.
  static constexpr absl::Duration kHeartbeat = absl::Seconds(1);
  // The controller looks at the steps of a job with alert rules this often, and before the board
  // forgets any of them.
  static constexpr absl::Duration kBetweenLooks = absl::Seconds(1);
  static constexpr int64_t kStepsBetweenLooks = ProgressBoard::kRecentSteps / 2;
  using OnChange = std::function<void(const std::string& job_key)>;

  AgentRegistry(const Clock& clock, ProgressBoard* progress, OnChange on_change);

  // Every hello is answered with NotLeader{address} until SetLeader(), and after SetStandby(). A
  // leader that becomes a standby sends that answer to its agents, ends their streams and forgets
  // all jobs. Both calls may be repeated, e.g. with a new address.
  void SetLeader();
  void SetStandby(const std::string& leader_address);

  // Adds or refreshes a job; costs next to nothing if nothing has changed. Later Welcomes carry a
  // raised term.
  void Register(const JobRegistration& job);
  // Closes the job's streams and forgets it.
  void Unregister(const std::string& job_uid);
  bool IsRegistered(const std::string& job_uid) const;

  // The interface of the streams. Attach() queues Welcome on `stream`, before any order can be
  // queued, and returns the attachment's id; on a standby it queues NotLeader and returns 0.
  // Errors: kUnavailable (the job is not known yet, try again), kFailedPrecondition (a newer
  // incarnation has replaced this worker), kInvalidArgument (the hello is malformed),
  // kResourceExhausted (the worker says more than its quota, over all of its streams).
  absl::StatusOr<uint64_t> Attach(const v1alpha1::AgentHello& hello,
                                  std::shared_ptr<AgentStream> stream);
  // An error ends the stream, and nothing of the message counts: kInvalidArgument (it says what no
  // agent of the job says, see agent_bounds.h), kResourceExhausted (see stream_quota.h).
  absl::Status Receive(uint64_t attachment, v1alpha1::AgentMessage message);
  void Detach(uint64_t attachment);

  // Returns kUnavailable if that pod's agent is not attached.
  absl::Status SendOrder(const OrderTarget& target, EncodedMessage order);

  // Returns the agents by worker index, the newest incarnation of each.
  std::vector<AgentState> Agents(const std::string& job_uid) const;
  // Visits the same agents without copies; `visit` is called with the registry's lock held.
  void VisitAgents(const std::string& job_uid,
                   absl::FunctionRef<void(const AgentState&)> visit) const;
  // Drops failure reports of rounds before `round`, which a decision has taken into account.
  void DropFailuresBefore(const std::string& job_uid, int64_t round);

  // Records that all that agents sent before `when` (monotonic) has been received. The time only
  // grows; without a call it is InfiniteFuture, as if nothing ever came late.
  void HeardUntil(absl::Time when);
  absl::Time heard_until() const;
  const Clock& clock() const { return clock_; }

  int attached() const;
  // Ends every stream; agents will dial again.
  void CloseAll(const absl::Status& reason);

 private:
  struct Worker {
    AgentState state;
    std::shared_ptr<AgentStream> stream;  // shared with the gRPC reactor, which may end first
    uint64_t attachment = 0;
    StreamQuota quota;
    // The steps that it has reported since the controller was last woken for them.
    int64_t unseen_steps = 0;
    absl::Time woken_at = absl::InfinitePast();
  };
  struct Job {
    JobRegistration registration;
    // A job that shrinks still has its earlier ranks for a while, so they only grow.
    JobBounds bounds;
    std::vector<EncodedMessage> welcomes;  // one for each protocol, the oldest first
    std::map<int32_t, Worker> workers;
  };
  // Both pointers are valid until the attachment is erased.
  struct Place {
    const Job* job = nullptr;
    Worker* worker = nullptr;
  };

  absl::Status CheckHello(const v1alpha1::AgentHello& hello) const MUSTER_REQUIRES(mu_);
  absl::Status Take(uint64_t attachment, v1alpha1::AgentMessage& message, bool& superseded);
  bool WakesForSteps(const Job& job, const v1alpha1::AgentMessage& message, Worker& worker)
      MUSTER_REQUIRES(mu_);
  void Supersede(Worker& worker, const v1alpha1::AgentHello& hello) MUSTER_REQUIRES(mu_);

  const Clock& clock_;
  ProgressBoard* const progress_;
  const OnChange on_change_;

  mutable Mutex mu_;
  bool leader_ MUSTER_GUARDED_BY(mu_) = false;
  std::string leader_address_ MUSTER_GUARDED_BY(mu_);
  absl::Time heard_until_ MUSTER_GUARDED_BY(mu_) = absl::InfiniteFuture();
  uint64_t next_attachment_ MUSTER_GUARDED_BY(mu_) = 1;
  std::map<std::string, Job> jobs_ MUSTER_GUARDED_BY(mu_);
  std::unordered_map<uint64_t, Place> attachments_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_STREAM_AGENT_REGISTRY_H_
