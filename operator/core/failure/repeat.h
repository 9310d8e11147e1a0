#ifndef MUSTER_OPERATOR_CORE_FAILURE_REPEAT_H_
#define MUSTER_OPERATOR_CORE_FAILURE_REPEAT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "operator/core/state/draft.h"
#include "operator/core/state/failure_policy.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// Counts rounds in a row that broke in the same way without a step in between: trying again does
// not help them. The count is in status.failures.repeat, so a new leader goes on counting.
namespace muster::control {

// Returns an identifier that failures of the same kind share: a hash of exit code, signal and the
// last lines of the log, in which all words that contain a digit count as equal.
std::string Fingerprint(int exit_code, int signal, absl::string_view log);

// Returns true if the failure is the program's own doing and would happen anywhere: false for what
// the nodes, the network or a SIGKILL did to it, and for what a rule ignores.
bool MayRepeat(const FailureVerdict& verdict, const v1alpha1::FailureRecord& record);

// Counts the failure that was just judged, at most once per round.
void CountRepeat(Draft& draft, const v1alpha1::FailureRecord& record, absl::string_view log);
// Takes the count of `record` back: the failure was not the program's own doing after all.
void WithdrawRepeat(Draft& draft, const v1alpha1::FailureRecord& record);

// Clears the count once a step was made.
void ForgetRepeats(Draft& draft);
// Adds the other nodes on which the counted round broke in the same way.
void AddNodesOfRepeat(Draft& draft);

// Returns true once the count reaches failurePolicy.maxIdenticalFailures, on two nodes if the job
// has two.
bool RepeatsTooOften(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FAILURE_REPEAT_H_
