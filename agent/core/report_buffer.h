#ifndef MUSTER_AGENT_CORE_REPORT_BUFFER_H_
#define MUSTER_AGENT_CORE_REPORT_BUFFER_H_

#include <cstddef>
#include <deque>
#include <vector>

#include "proto/muster/v1alpha1/agent_messages.pb.h"

namespace muster::agent {

// Keeps reports in order while no operator is attached. Bounded: the step reports of one round are
// merged into one message of at most kMaxSteps steps, and the oldest are dropped first.
class ReportBuffer {
 public:
  static constexpr size_t kMaxReports = 256;
  static constexpr int kMaxSteps = 2000;

  void Add(v1alpha1::AgentMessage message);
  // Empties the buffer.
  std::vector<v1alpha1::AgentMessage> Take();
  size_t size() const { return reports_.size(); }

 private:
  std::deque<v1alpha1::AgentMessage> reports_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_REPORT_BUFFER_H_
