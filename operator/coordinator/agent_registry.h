#ifndef MUSTER_OPERATOR_COORDINATOR_AGENT_REGISTRY_H_
#define MUSTER_OPERATOR_COORDINATOR_AGENT_REGISTRY_H_

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
#include "operator/coordinator/progress_board.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::control {

// A message to agents as it goes over the wire: serialised once, shared by every stream and queue
// that it is in. Never null.
using EncodedMessage = std::shared_ptr<const std::string>;
EncodedMessage Encode(const v1alpha1::OperatorMessage& message);

// One agent's stream as the registry sees it. Calls come with the registry's lock held: an
// implementation must not call back into the registry and must not block.
class AgentStream {
 public:
  virtual ~AgentStream() = default;
  // Queues; kResourceExhausted when the peer reads too slowly.
  virtual absl::Status Send(EncodedMessage message) = 0;
  // Ends the stream after what is queued has been sent.
  virtual void Close(const absl::Status& reason) = 0;
};

// What one worker last said, across the streams of one incarnation.
struct AgentState {
  static constexpr size_t kMaxFailures = 64;

  v1alpha1::WorkerId worker;
  bool attached = false;
  // Counts streams; an order sent on an older one may be lost.
  int64_t session = 0;
  // Monotonic times; infinite past when never.
  absl::Time attached_at = absl::InfinitePast();
  absl::Time detached_at = absl::InfinitePast();
  absl::Time last_heard = absl::InfinitePast();
  int32_t ranks = 0;
  std::string host;
  std::string version;
  v1alpha1::RoundId seen;
  v1alpha1::RoundId active;
  std::optional<v1alpha1::WorkerReady> ready;
  std::optional<v1alpha1::WorkerJoined> joined;
  std::optional<v1alpha1::WorkerFinished> finished;
  // Not yet acknowledged failures, in order of arrival, the newest kMaxFailures; the same event
  // sent again is kept once.
  std::vector<v1alpha1::RankExited> exits;
  std::vector<v1alpha1::RankStalled> stalls;
  std::optional<v1alpha1::OrderRefused> refused;
};

// Whom an order is for: one pod's agent, not its successor.
struct OrderTarget {
  std::string job_uid;
  int32_t index = 0;
  int32_t incarnation = 0;
  std::string pod_uid;
};

// A job that agents may attach to.
struct JobRegistration {
  std::string key;  // namespace/name, the work queue's
  std::string uid;
  int64_t term = 0;
  // As agents are told it; null: an empty one. Another spec is another pointer.
  std::shared_ptr<const v1alpha1::TrainingJobSpec> spec;
  std::vector<int32_t> incarnations;  // by worker index, as recorded in status
  absl::Duration orphan_deadline = absl::Seconds(60);
  absl::Duration prepare_deadline = absl::Seconds(60);
  bool operator==(const JobRegistration&) const = default;
};

// Who is attached to which job and what each worker last said. The controller registers a job once
// its term is in the job's status; agents of unknown jobs are told to come back. Thread-safe.
// `on_change` is called without the lock, with the key of a job about which something changed.
class AgentRegistry {
 public:
  // What agents are told to send at least this often.
  static constexpr absl::Duration kHeartbeat = absl::Seconds(1);
  using OnChange = std::function<void(const std::string& job_key)>;

  AgentRegistry(const Clock& clock, ProgressBoard* progress, OnChange on_change);

  // Until SetLeader, and after SetStandby, every hello is answered with NotLeader{address}. A
  // leader that becomes a standby tells its agents so, ends their streams and forgets all jobs.
  // Both may be repeated, as with a new address.
  void SetLeader();
  void SetStandby(const std::string& leader_address);

  // Adds or refreshes a job; costs next to nothing when it is known so. A raised term is what later
  // Welcomes carry.
  void Register(const JobRegistration& job);
  // Closes the job's streams and forgets it.
  void Unregister(const std::string& job_uid);
  bool IsRegistered(const std::string& job_uid) const;

  // The stream side. Attach queues Welcome on `stream`, before any order can be, and returns the
  // attachment's id; or NotLeader, and returns 0. kUnavailable: the job is not known yet, try
  // again. kFailedPrecondition: this worker was replaced by a newer incarnation. kInvalidArgument:
  // the hello is malformed.
  absl::StatusOr<uint64_t> Attach(const v1alpha1::AgentHello& hello,
                                  std::shared_ptr<AgentStream> stream);
  void Receive(uint64_t attachment, const v1alpha1::AgentMessage& message);
  void Detach(uint64_t attachment);

  // kUnavailable when that pod's agent is not attached.
  absl::Status SendOrder(const OrderTarget& target, EncodedMessage order);

  // By worker index, the newest incarnation each.
  std::vector<AgentState> Agents(const std::string& job_uid) const;
  // The same without copies: `visit` is called with the registry's lock held.
  void VisitAgents(const std::string& job_uid,
                   absl::FunctionRef<void(const AgentState&)> visit) const;
  // Drops failure reports of rounds before `round`: a decision has taken them into account.
  void DropFailuresBefore(const std::string& job_uid, int64_t round);

  // All that agents sent before `when` (monotonic) has been received; it only grows. Never said:
  // infinite future, as where nothing comes late.
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
  };
  struct Job {
    JobRegistration registration;
    EncodedMessage welcome;
    std::map<int32_t, Worker> workers;
  };
  // Both stay where they are until the attachment is erased.
  struct Place {
    const Job* job = nullptr;
    Worker* worker = nullptr;
  };

  absl::Status CheckHello(const v1alpha1::AgentHello& hello) const MUSTER_REQUIRES(mu_);
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

#endif  // MUSTER_OPERATOR_COORDINATOR_AGENT_REGISTRY_H_
