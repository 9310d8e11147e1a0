#include "operator/coordinator/node_board.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "google/protobuf/util/message_differencer.h"
#include "operator/coordinator/identity/agreed_protocol.h"
#include "proto/muster/v1alpha1/agent_limits.h"

namespace muster::control {
namespace {

using google::protobuf::util::MessageDifferencer;

// No machine draws more; a report that says so is not believed.
constexpr double kMostWatts = 1e6;

EncodedMessage Welcome(int protocol) {
  v1alpha1::OperatorMessage message;
  v1alpha1::Welcome& welcome = *message.mutable_welcome();
  welcome.set_heartbeat_seconds(absl::ToDoubleSeconds(NodeBoard::kHeartbeat));
  welcome.set_protocol(protocol);
  return Encode(message);
}

}  // namespace

void NodeBoard::EndLocked(Node& node, const absl::Status& reason) {
  if (node.stream == nullptr) return;
  node.stream->Close(reason);
  attachments_.erase(node.attachment);
  node.stream.reset();
  node.attachment = 0;
  node.news.attached = false;
}

void NodeBoard::SetLeader() {
  MutexLock lock(mu_);
  leader_ = true;
}

void NodeBoard::SetStandby(const std::string& leader_address) {
  MutexLock lock(mu_);
  leader_address_ = leader_address;
  if (!std::exchange(leader_, false)) return;
  const EncodedMessage goodbye = EncodeNotLeader(leader_address);
  for (auto& [name, node] : nodes_) {
    if (node.stream != nullptr) node.stream->Send(goodbye).IgnoreError();
    EndLocked(node, absl::UnavailableError("no longer the leader"));
  }
  nodes_.clear();
}

absl::StatusOr<uint64_t> NodeBoard::Attach(const v1alpha1::NodeHello& hello,
                                           std::shared_ptr<AgentStream> stream) {
  if (hello.node().empty()) return absl::InvalidArgumentError("NodeHello.node: is empty");
  MutexLock lock(mu_);
  if (!leader_) {
    stream->Send(EncodeNotLeader(leader_address_)).IgnoreError();
    return 0;
  }
  MUSTER_ASSIGN_OR_RETURN(const int protocol, AgreedProtocol(hello));
  if (nodes_.size() >= kMaxNodes && nodes_.count(hello.node()) == 0) {
    return absl::ResourceExhaustedError(absl::StrCat("more than ", kMaxNodes, " nodes report"));
  }
  Node& node = nodes_[hello.node()];
  EndLocked(node, absl::UnavailableError("another agent of this node has attached"));
  stream->Send(Welcome(protocol)).IgnoreError();
  node.stream = std::move(stream);
  node.attachment = next_attachment_++;
  node.news.attached = true;
  node.news.last_heard = clock_.Monotonic();
  attachments_[node.attachment] = hello.node();
  return node.attachment;
}

absl::Status NodeBoard::Receive(uint64_t attachment, v1alpha1::AgentMessage message) {
  v1alpha1::CutTexts(message);
  MutexLock lock(mu_);
  const auto found = attachments_.find(attachment);
  if (found == attachments_.end()) return absl::OkStatus();
  Node& node = nodes_[found->second];
  NodeNews& news = node.news;
  news.last_heard = clock_.Monotonic();
  MUSTER_RETURN_IF_ERROR(node.quota.Take(message.ByteSizeLong(), news.last_heard));
  if (message.has_node_power()) {
    const double watts = message.node_power().gpu_watts();
    if (!(watts >= 0 && watts <= kMostWatts)) return absl::OkStatus();
    news.gpu_watts = watts;
    const double use = message.node_power().gpu_utilization();
    news.gpu_use.reset();
    if (message.node_power().has_gpu_utilization() && use >= 0 && use <= 1) news.gpu_use = use;
    news.measured = news.last_heard;
  }
  if (!message.has_node_report()) return absl::OkStatus();
  const v1alpha1::NodeReport& report = message.node_report();
  if (news.report != nullptr && MessageDifferencer::Equals(*news.report, report)) {
    return absl::OkStatus();
  }
  news.report = std::make_shared<const v1alpha1::NodeReport>(report);
  ++news.version;
  return absl::OkStatus();
}

void NodeBoard::Detach(uint64_t attachment) {
  MutexLock lock(mu_);
  const auto found = attachments_.find(attachment);
  if (found == attachments_.end()) return;
  Node& node = nodes_[found->second];
  node.stream.reset();
  node.attachment = 0;
  node.news.attached = false;
  attachments_.erase(found);
}

std::map<std::string, NodeNews> NodeBoard::Nodes() const {
  MutexLock lock(mu_);
  std::map<std::string, NodeNews> all;
  for (const auto& [name, node] : nodes_) all.emplace_hint(all.end(), name, node.news);
  return all;
}

const NodeNews* NodeBoard::MeasuredLocked(const std::string& node, absl::Duration age) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return nullptr;
  const NodeNews& news = found->second.news;
  return clock_.Monotonic() - news.measured > age ? nullptr : &news;
}

std::optional<double> NodeBoard::GpuWatts(const std::string& node) const {
  MutexLock lock(mu_);
  const NodeNews* news = MeasuredLocked(node, kPowerAge);
  return news == nullptr ? std::nullopt : news->gpu_watts;
}

std::optional<double> NodeBoard::GpuUse(const std::string& node) const {
  MutexLock lock(mu_);
  const NodeNews* news = MeasuredLocked(node, kUseAge);
  return news == nullptr ? std::nullopt : news->gpu_use;
}

int NodeBoard::attached() const {
  MutexLock lock(mu_);
  return static_cast<int>(attachments_.size());
}

void NodeBoard::CloseAll(const absl::Status& reason) {
  MutexLock lock(mu_);
  for (auto& [name, node] : nodes_) EndLocked(node, reason);
}

}  // namespace muster::control
