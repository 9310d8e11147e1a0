#ifndef MUSTER_OPERATOR_CORE_STATE_FAILURE_POLICY_H_
#define MUSTER_OPERATOR_CORE_STATE_FAILURE_POLICY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "operator/core/state/view.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The verdict on one failure: the spec's rules in their order, then the default rules. Pure: equal
// facts give equal verdicts. docs/failure-policy.md shows it as tables made from the tests' cases.
namespace muster::control {

// The kind of a failure, independent of the action taken. A closed list: metrics use the names.
enum class FailureClass {
  kDisruption,
  kNodeLost,
  kPlacement,
  kOutOfMemory,
  kWorkerRefused,
  kSidecar,
  kWorkerKilled,
  kProbeFailed,
  kBadInput,
  kDiverged,
  kRankSilent,
  kRankKilled,
  kProgramFailed,
};
// The `values` of FailureRule.action in training_job.proto.
enum class FailureAction { kRestartWorker, kRestartJob, kIgnore, kFailJob };

absl::string_view Name(FailureClass kind);
absl::string_view Name(FailureAction action);
std::vector<FailureClass> AllFailureClasses();
// Returns the meaning in one sentence.
absl::string_view Meaning(FailureClass kind);
FailureAction DefaultAction(FailureClass kind);
// Returns nullopt for a name that the schema does not list.
std::optional<FailureAction> FindAction(absl::string_view name);
// Returns true if the failure counts against failurePolicy.maxFailures.
bool IsCounted(FailureAction action);
// Returns true if the job fails at once.
bool EndsJob(FailureAction action);

// Everything that a rule can match.
struct FailureFacts {
  // The program that ended. Exit codes 2, 3, 4 and 75 have a meaning only for muster's own
  // programs.
  enum class Program { kTrainer, kCommand, kAgent };
  Program program = Program::kTrainer;
  // True if a whole pod ended or is being disrupted; false if a rank ended in a pod that lives on.
  bool of_pod = false;
  bool probed = false;  // as in JobView
  // One entry with container `worker` for a rank; every container that has ended for a pod.
  std::vector<ContainerEnd> ends;
  std::string reason;  // the reason of the pod
  // The end of the rank's log, or the pod's message. At most its last 8 KiB are searched.
  std::string log;
  std::vector<ConditionView> pod_conditions;
  std::vector<ConditionView> node_conditions;
};

struct FailureVerdict {
  FailureAction action = FailureAction::kRestartWorker;
  FailureClass kind = FailureClass::kProgramFailed;
  std::string rule;  // the rule's name, or "rules[0]", or "default"

  bool counted() const { return IsCounted(action); }
};

FailureVerdict EvaluateFailure(const v1alpha1::FailurePolicySpec& policy,
                               const FailureFacts& facts);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_FAILURE_POLICY_H_
