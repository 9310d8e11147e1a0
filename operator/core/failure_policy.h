#ifndef MUSTER_OPERATOR_CORE_FAILURE_POLICY_H_
#define MUSTER_OPERATOR_CORE_FAILURE_POLICY_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "operator/core/view.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// What is done about one failure: the spec's rules in their order, then the default rules. Pure:
// equal facts, equal verdict. docs/failure-policy.md shows it as a table made from the tests'
// cases.
namespace muster::control {

// What kind of failure it is, whatever is done about it. A closed list: metrics use the names.
enum class FailureClass {
  kDisruption,
  kNodeLost,
  kPlacement,
  kOutOfMemory,
  kWorkerRefused,
  kSidecar,
  kWorkerKilled,
  kBadInput,
  kDiverged,
  kRankSilent,
  kRankKilled,
  kProgramFailed,
};
enum class FailureAction { kRestartWorker, kRestartJob, kIgnore, kFailJob };

absl::string_view Name(FailureClass kind);
absl::string_view Name(FailureAction action);
std::vector<FailureClass> AllFailureClasses();
// What it means, in one sentence, and what is done when no rule of the spec matches.
absl::string_view Meaning(FailureClass kind);
FailureAction DefaultAction(FailureClass kind);

// Everything a rule may ask about.
struct FailureFacts {
  // Whose exit code it is: only our own programs mean something by 2, 3, 4 and 75.
  enum class Program { kTrainer, kCommand, kAgent };
  Program program = Program::kTrainer;
  // A whole pod ended or is being disrupted; else a rank in a pod that lives on.
  bool of_pod = false;
  // Of a rank: one entry, container `worker`. Of a pod: every container that has ended.
  std::vector<ContainerEnd> ends;
  std::string reason;  // the pod's own
  // The end of the rank's log, or the pod's message; of more than 8 KiB the end is searched.
  std::string log;
  std::vector<ConditionView> pod_conditions;
  std::vector<ConditionView> node_conditions;
};

struct FailureVerdict {
  FailureAction action = FailureAction::kRestartWorker;
  FailureClass kind = FailureClass::kProgramFailed;
  std::string rule;  // its name, or "rules[0]", or "default"

  bool counted() const { return action != FailureAction::kIgnore; }
};

FailureVerdict JudgeFailure(const v1alpha1::FailurePolicySpec& policy, const FailureFacts& facts);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FAILURE_POLICY_H_
