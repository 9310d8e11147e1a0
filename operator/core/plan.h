#ifndef MUSTER_OPERATOR_CORE_PLAN_H_
#define MUSTER_OPERATOR_CORE_PLAN_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/failure_policy.h"
#include "operator/core/round_memory.h"
#include "operator/core/view.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// What Decide() wants done. The executor's order, each step only if the one before it succeeded:
//   1. deletes and creates of pods, finalizers       (each safe to repeat: uid, derived name)
//   2. the ONE status write, if write_status          (resourceVersion checked)
//   3. memory = plan.memory                           (the shell keeps it per job)
//   4. orders to agents, in order                     (never before 2: they are written ahead
//   there)
//   5. events; delete_job last
// When 1 or 2 fails, drop the rest and the new memory, and decide again on a fresh view.
namespace muster::control {

// A pod to create. The shell builds the object: the job's template, this name, these labels and
// this environment on the container `worker`, an owner reference to the job, restartPolicy Never.
// "Already exists" with our owner uid is success.
struct CreatePod {
  std::string name;  // <job>-<index>-<incarnation>
  int index = 0;
  int incarnation = 0;
  int ranks = 0;
  int gpus = 0;
  std::map<std::string, std::string> labels;
  std::vector<std::pair<std::string, std::string>> env;
};

struct DeletePod {
  std::string name;
  std::string uid;  // precondition
  absl::Duration grace;
  std::string reason;
};

// One member's place in a round: all that it is told of the others.
struct MemberPlace {
  v1alpha1::Member member;
  int world_size = 0;
  int group_rank = 0;        // among the members
  int group_world_size = 0;  // their number
};

struct PrepareOrder {
  RoundStamp round;
  MemberPlace place;
  std::string membership;
  bool fresh = false;  // every rank's process is ended and a new one started
  std::shared_ptr<const v1alpha1::TrainingJobSpec> spec;  // one for all members
  std::string trajectory;
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

// To the agent of one pod; dropped when that agent is not attached (Decide() sends it again on the
// next session).
struct Order {
  int index = 0;
  int incarnation = 0;
  std::string pod_uid;
  std::variant<PrepareOrder, GoOrder, StopOrder, SaveOrder> what;
};

// A Kubernetes Event about the job.
struct Event {
  enum class Type { kNormal, kWarning };
  Type type = Type::kNormal;
  std::string reason;  // CamelCase
  std::string message;
};

// A failure that this decision judged, for metrics; the status has the evidence.
struct JudgedFailure {
  FailureClass kind = FailureClass::kProgramFailed;
  FailureAction action = FailureAction::kRestartWorker;
};

struct Plan {
  std::vector<DeletePod> deletes;
  std::vector<CreatePod> creates;
  std::vector<std::string> add_finalizers;
  std::vector<std::string> remove_finalizers;
  v1alpha1::TrainingJobStatus status;
  bool write_status = false;         // status differs from the view's, and is not held back
  bool writes_progress = false;      // the view's turn to write progress is used
  bool wants_progress_slot = false;  // progress is due and waits for a turn
  std::vector<Order> orders;
  RoundMemory memory;
  std::optional<absl::Duration> requeue_after;
  bool requeue_when_idle = false;  // what is to be done then can wait for other jobs' work
  std::vector<Event> events;
  std::vector<JudgedFailure> failures;
  bool delete_job = false;  // with the job's uid as precondition
  // Why, of the policy that had the last word: a name from docs/states.md, and a sentence.
  std::string reason;
  std::string sentence;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_PLAN_H_
