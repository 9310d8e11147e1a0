#include "operator/app/start_retry.h"

#include <string>

#include "base/logging.h"
#include "operator/kube/api_error.h"

namespace muster::control {

absl::Status RetryAtStart(const Clock& clock, const std::function<absl::Status()>& attempt,
                          const std::function<void(absl::Duration)>& wait) {
  const absl::Time deadline = clock.Monotonic() + kReachDeadline;
  for (int failures = 1;; ++failures) {
    const absl::Status status = attempt();
    if (!kube::IsRetriable(status)) return status;
    const absl::Duration pause = BackoffAfter(failures, kStartBackoff);
    if (clock.Monotonic() + pause >= deadline) return status;
    MUSTER_LOG_LIMITED(WARN, std::string(status.message()),
                       "the API server did not answer, and is tried again", {"error", status});
    wait(pause);
  }
}

}  // namespace muster::control
