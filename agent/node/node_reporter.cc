#include "agent/node/node_reporter.h"

#include <algorithm>
#include <utility>

#include "base/version.h"
#include "google/protobuf/util/message_differencer.h"
#include "proto/muster/v1alpha1/agent_limits.h"
#include "proto/muster/v1alpha1/protocol.h"

namespace muster::agent {
namespace {

using google::protobuf::util::MessageDifferencer;

// An operator cannot make its agents talk without pause.
constexpr absl::Duration kShortestHeartbeat = absl::Seconds(1);

// Shortens the report until a message can hold it. Each time it drops the last part of whichever
// kind the machine has most of, such as the virtual functions of its network cards.
void FitToLimits(v1alpha1::AgentMessage& message) {
  v1alpha1::CutTexts(message);
  v1alpha1::NodeReport& report = *message.mutable_node_report();
  while (message.ByteSizeLong() > v1alpha1::kMaxAgentMessage) {
    const int cards = report.network_cards_size();
    const int disks = report.disks_size();
    const int ports = report.infiniband_ports_size();
    const int most = std::max({cards, disks, ports});
    if (most == 0) return;
    if (most == cards) {
      report.mutable_network_cards()->RemoveLast();
    } else if (most == disks) {
      report.mutable_disks()->RemoveLast();
    } else {
      report.mutable_infiniband_ports()->RemoveLast();
    }
  }
}

}  // namespace

NodeReporter::NodeReporter(const std::string& node, const std::string& pod_uid) {
  hello_.set_node(node);
  hello_.set_pod_uid(pod_uid);
  hello_.set_version(kVersion);
  *hello_.mutable_protocols() = v1alpha1::OwnProtocols();
}

NodeReporter::Messages NodeReporter::StreamOpened() {
  welcome_ = false;
  told_ = false;
  last_power_ = absl::InfinitePast();
  v1alpha1::AgentMessage message;
  *message.mutable_node_hello() = hello_;
  return {message};
}

void NodeReporter::StreamClosed() { welcome_ = false; }

NodeReporter::Messages NodeReporter::Heard(const v1alpha1::OperatorMessage& message,
                                           absl::Time now) {
  if (!message.has_welcome()) return {};
  if (!v1alpha1::IsSpoken(v1alpha1::ChosenProtocol(message.welcome().protocol()))) return {};
  welcome_ = true;
  const double seconds = message.welcome().heartbeat_seconds();
  if (seconds > 0) heartbeat_ = std::max(kShortestHeartbeat, absl::Seconds(seconds));
  last_said_ = now;
  return Tell(now);
}

NodeReporter::Messages NodeReporter::Observed(v1alpha1::NodeReport report, absl::Time now) {
  if (!newest_.has_value() || !MessageDifferencer::Equals(*newest_, report)) {
    newest_ = std::move(report);
    told_ = false;
  }
  return Tell(now);
}

bool NodeReporter::WantsPower(absl::Time now) const {
  return welcome_ && now - last_power_ >= heartbeat_;
}

NodeReporter::Messages NodeReporter::Power(const v1alpha1::NodePower& power, absl::Time now) {
  if (!WantsPower(now)) return {};
  last_power_ = last_said_ = now;
  v1alpha1::AgentMessage message;
  *message.mutable_node_power() = power;
  return {message};
}

NodeReporter::Messages NodeReporter::Tick(absl::Time now) {
  if (now < next()) return {};
  last_said_ = now;
  v1alpha1::AgentMessage message;
  message.mutable_heartbeat();
  return {message};
}

absl::Time NodeReporter::next() const {
  return welcome_ ? last_said_ + heartbeat_ : absl::InfiniteFuture();
}

NodeReporter::Messages NodeReporter::Tell(absl::Time now) {
  if (!welcome_ || told_ || !newest_.has_value()) return {};
  told_ = true;
  last_said_ = now;
  ++reports_;
  v1alpha1::AgentMessage message;
  *message.mutable_node_report() = *newest_;
  FitToLimits(message);
  return {message};
}

}  // namespace muster::agent
