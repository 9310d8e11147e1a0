#include "operator/scheduler/record/decision_notes.h"

#include <utility>

#include "operator/queue/decision_input.h"

namespace muster::control {

std::vector<Decision> DecisionNotes::Schedule(absl::Time now, TopologyTree& tree, QueueBook& book,
                                              const ScheduleOptions& options) {
  if (recorder_ == nullptr) return control::Schedule(now, tree, book, options);
  DecisionInput input;
  std::vector<Decision> decisions = ScheduleAndCapture(now, tree, book, options, input);
  const uint64_t id = recorder_->Note(std::move(input), decisions);
  for (const Decision& decision : decisions) decided_in_[decision.job] = id;
  return decisions;
}

uint64_t DecisionNotes::DecisionOf(const std::string& job_uid) const {
  const auto found = decided_in_.find(job_uid);
  return found == decided_in_.end() ? 0 : found->second;
}

void DecisionNotes::Forget(const std::function<bool(const std::string&)>& is_gone) {
  std::erase_if(decided_in_, [&](const auto& entry) { return is_gone(entry.first); });
}

}  // namespace muster::control
