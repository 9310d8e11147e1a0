#include "agent/core/report_buffer.h"

#include <iterator>
#include <utility>

#include "proto/muster/v1alpha1/round_id.h"

namespace muster::agent {

void ReportBuffer::Add(v1alpha1::AgentMessage message) {
  if (message.has_steps()) {
    for (v1alpha1::AgentMessage& kept : reports_) {
      if (!kept.has_steps() || !Same(kept.steps().round(), message.steps().round())) continue;
      auto* steps = kept.mutable_steps()->mutable_steps();
      steps->MergeFrom(message.steps().steps());
      if (steps->size() > kMaxSteps) steps->DeleteSubrange(0, steps->size() - kMaxSteps);
      return;
    }
  }
  reports_.push_back(std::move(message));
  if (reports_.size() > kMaxReports) reports_.pop_front();
}

std::vector<v1alpha1::AgentMessage> ReportBuffer::Take() {
  std::vector<v1alpha1::AgentMessage> taken(std::make_move_iterator(reports_.begin()),
                                            std::make_move_iterator(reports_.end()));
  reports_.clear();
  return taken;
}

}  // namespace muster::agent
