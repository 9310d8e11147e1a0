#ifndef MUSTER_OPERATOR_CORE_REPEAT_H_
#define MUSTER_OPERATOR_CORE_REPEAT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "operator/core/draft.h"
#include "operator/core/failure_policy.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// Rounds in a row that broke in one way, without a step in between: trying again does not help
// them. status.failures.repeat counts them, so a new leader goes on counting.
namespace muster::control {

// What two failures have in common that are the same one: a hash of exit code, signal and the last
// lines of the log, in which every word with a digit in it counts alike.
std::string Fingerprint(int exit_code, int signal, absl::string_view log);

// Whether the failure is the program's own doing and would be so anywhere: not what the nodes, the
// network or a SIGKILL did to it, and not what a rule ignores.
bool MayRepeat(const FailureVerdict& verdict, const v1alpha1::FailureRecord& record);

// Counts the failure, which was judged just now, at most once for its round.
void CountRepeat(Draft& draft, const v1alpha1::FailureRecord& record, absl::string_view log);
// It was not the program's own doing after all.
void WithdrawRepeat(Draft& draft, const v1alpha1::FailureRecord& record);

// Forgets what came before a step.
void ForgetRepeats(Draft& draft);
// Hears on which other nodes the newest round broke so.
void NoteWhereElse(Draft& draft);

// As many as failurePolicy.maxIdenticalFailures, on two nodes if the job has two.
bool RepeatsTooOften(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_REPEAT_H_
