#ifndef MUSTER_AGENT_NODE_NODE_REPORTER_H_
#define MUSTER_AGENT_NODE_NODE_REPORTER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/node_report.pb.h"

namespace muster::agent {

// Decides what a node agent says to its operator: a hello on each stream; after Welcome the report,
// then each report that differs from the last one sent, at each heartbeat's time the power of the
// GPUs if it is known, and a heartbeat when nothing else was said for long. A machine of events,
// pure: the caller sends what it returns. Times are monotonic.
class NodeReporter {
 public:
  NodeReporter(const std::string& node, const std::string& pod_uid);

  using Messages = std::vector<v1alpha1::AgentMessage>;
  Messages StreamOpened();
  void StreamClosed();
  // An answer to the hello; anything else says nothing to a node agent, nor does a welcome to a
  // protocol that it does not speak.
  Messages Heard(const v1alpha1::OperatorMessage& message, absl::Time now);
  // A new reading was made.
  Messages Observed(v1alpha1::NodeReport report, absl::Time now);
  // Returns true if it is time to tell the power of the GPUs.
  bool WantsPower(absl::Time now) const;
  Messages Power(const v1alpha1::NodePower& power, absl::Time now);
  // Time has passed.
  Messages Tick(absl::Time now);

  bool welcome() const { return welcome_; }
  int64_t reports() const { return reports_; }
  // When Tick() may have something to say; InfiniteFuture without a stream.
  absl::Time next() const;

 private:
  // The report, if the operator does not have it yet.
  Messages Tell(absl::Time now);

  v1alpha1::NodeHello hello_;
  bool welcome_ = false;
  absl::Duration heartbeat_ = absl::Minutes(1);
  absl::Time last_said_ = absl::InfinitePast();
  absl::Time last_power_ = absl::InfinitePast();  // on this stream
  std::optional<v1alpha1::NodeReport> newest_;
  bool told_ = false;  // newest_ was sent on this stream
  int64_t reports_ = 0;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_NODE_REPORTER_H_
