#ifndef MUSTER_OPERATOR_CORE_STATE_PLAN_H_
#define MUSTER_OPERATOR_CORE_STATE_PLAN_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/state/failure_policy.h"
#include "operator/core/state/round_memory.h"
#include "operator/core/state/view.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The result of Decide(): everything that is to be done. The executor carries it out in this order,
// each step only if the one before it succeeded:
//   1. deletes and creates of pods, finalizers, spec.suspend   (each safe to repeat)
//   2. the ONE status write, if write_status     (resourceVersion checked)
//   3. memory = plan.memory                      (the shell keeps it per job)
//   4. orders to agents, in order                (never before 2, which is their write-ahead)
//   5. events; delete_job last
// If 1 or 2 fails, the rest and the new memory are dropped, and a fresh view is decided on.
namespace muster::control {

// A pod to create. The shell builds the object: the job's template, this name, these labels, this
// environment on the container `worker`, an owner reference to the job, and restartPolicy Never.
// "Already exists" with the job's uid as owner counts as success.
struct CreatePod {
  std::string name;  // <job>-<index>-<incarnation>
  int index = 0;
  int incarnation = 0;
  int ranks = 0;
  int gpus = 0;
  std::map<std::string, std::string> labels;
  std::vector<std::pair<std::string, std::string>> env;
  std::string avoided_node;  // on which it is not to be placed; empty: none
};

struct DeletePod {
  std::string name;
  std::string uid;  // precondition
  absl::Duration grace;
  std::string reason;
};

// One member's place in a round, which is all that the member learns about the others.
struct MemberPlace {
  v1alpha1::Member member;
  int world_size = 0;
  int group_rank = 0;        // among the members
  int group_world_size = 0;  // the number of members
};

// The address at which other agents reach a worker's agent for replicas of copies.
struct ReplicaSite {
  int index = -1;
  std::string endpoint;
  bool operator==(const ReplicaSite&) const = default;
};

struct PrepareOrder {
  RoundStamp round;
  MemberPlace place;
  std::string membership;
  bool fresh = false;  // end every rank's process and start a new one
  std::shared_ptr<const v1alpha1::TrainingJobSpec> spec;  // one for all members
  std::string trajectory;
  // The agents that keep copies of the worker that had the ranks before.
  std::vector<ReplicaSite> replicas_at = {};
  std::optional<int> copies_of = std::nullopt;  // that worker; absent: the member itself
};
struct GoOrder {
  std::shared_ptr<const v1alpha1::GoRound> go;  // one for all members; never null
};
struct StopOrder {
  RoundStamp round;
  bool save = false;
  std::string reason;
};
struct SaveOrder {
  RoundStamp round;
};
struct ReplicateOrder {
  RoundStamp round;
  std::optional<ReplicaSite> to;  // the keeper; absent: no replica is kept
};
// Keep the next copies, of this step or a later one, on the disk of the node.
struct DiskOrder {
  RoundStamp round;
  int64_t from_step = 0;
};

// All changes of the run while it trains, with the steps that are known.
struct TuneOrder {
  RoundStamp round;
  std::shared_ptr<const std::vector<v1alpha1::Tuning>> tunings;  // one for all members; never null
};

// An order to the agent of one pod. It is dropped if that agent is not attached; Decide() sends it
// again on the agent's next session.
struct Order {
  int index = 0;
  int incarnation = 0;
  std::string pod_uid;
  std::variant<PrepareOrder, GoOrder, StopOrder, SaveOrder, ReplicateOrder, DiskOrder, TuneOrder>
      what;
};

// A Kubernetes Event about the job.
struct Event {
  enum class Type { kNormal, kWarning };
  Type type = Type::kNormal;
  std::string reason;  // CamelCase
  std::string message;
};

// A failure that this decision evaluated, for metrics; the evidence is in the status.
struct EvaluatedFailure {
  FailureClass kind = FailureClass::kProgramFailed;
  FailureAction action = FailureAction::kRestartWorker;
};

// Says whether the job writes to its storage, which a limited number of jobs may do at a time.
enum class SaveTurn {
  kNone,
  kWanted,  // a checkpoint is due and waits for a turn
  kTaken,   // the job writes a checkpoint, or is about to
};

struct Plan {
  std::vector<DeletePod> deletes;
  std::vector<CreatePod> creates;
  std::vector<std::string> add_finalizers;
  std::vector<std::string> remove_finalizers;
  bool suspend = false;  // set spec.suspend, because an alert rule says so
  v1alpha1::TrainingJobStatus status;
  bool write_status = false;         // status differs from the view's, and is not held back
  bool writes_progress = false;      // the write uses the job's turn to write progress
  bool wants_progress_slot = false;  // progress is due and waits for a turn
  SaveTurn save_turn = SaveTurn::kNone;
  std::vector<Order> orders;
  RoundMemory memory;
  std::optional<absl::Duration> requeue_after;
  bool requeue_when_idle = false;  // the requeue may wait for other jobs' work
  std::vector<Event> events;
  std::vector<EvaluatedFailure> failures;
  bool delete_job = false;  // with the job's uid as precondition
  // The reason given by the policy that acted last: a name from docs/states.md, and a sentence.
  std::string reason;
  std::string sentence;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_PLAN_H_
