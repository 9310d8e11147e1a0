#ifndef MUSTER_OPERATOR_CORE_FAILURE_FAILURE_TEXT_H_
#define MUSTER_OPERATOR_CORE_FAILURE_FAILURE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "operator/core/state/view.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// Failures as people read them in events and conditions.
namespace muster::control {

// Returns the last line of `log`, which usually names the cause: at most 512 bytes, empty if it has
// none.
std::string LastLine(absl::string_view log);

// Returns how a rank, worker or pod ended, to stand behind its name: "ended with exit code 7
// (Exited)", or the agent's reason to kill it. Empty reasons are left out.
std::string HowItEnded(int exit_code, absl::string_view reason);

// Returns e.g. "rank 1 of worker 1 ended with exit code 7 (Exited)".
std::string DescribeRankExit(int worker, const ExitReport& exit);

// Returns e.g. "rank 1 of worker 1 ended with exit code 7 (Exited); it said: no such file". `log`
// may be empty.
std::string DescribeFailure(const v1alpha1::FailureRecord& record, absl::string_view log);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FAILURE_FAILURE_TEXT_H_
