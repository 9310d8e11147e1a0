#include "cli/state_reason.h"

namespace muster::cli {
namespace {

// The type of the condition that tells why the job is in this state.
std::string TypeFor(const std::string& state) {
  if (state == "Recovering") return "Running";
  if (state == "Queued" || state == "Pending" || state == "Starting") return "Scheduled";
  return state;
}

}  // namespace

std::string StateReason(const v1alpha1::TrainingJobStatus& status) {
  const std::string type = TypeFor(status.state());
  for (const v1alpha1::Condition& condition : status.conditions()) {
    if (condition.type() == type) return condition.reason();
  }
  return "";
}

}  // namespace muster::cli
