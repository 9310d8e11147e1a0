#ifndef MUSTER_OPERATOR_COORDINATOR_NODE_BOARD_H_
#define MUSTER_OPERATOR_COORDINATOR_NODE_BOARD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "operator/coordinator/stream/stream_quota.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/node_report.pb.h"

namespace muster::control {

// The newest report of one node, and when its agent was heard.
struct NodeNews {
  // Null before the first report.
  std::shared_ptr<const v1alpha1::NodeReport> report;
  // Grows with each report that differs from the one before.
  int64_t version = 0;
  bool attached = false;
  absl::Time last_heard = absl::InfinitePast();  // monotonic
  // The measured draw of all its GPUs, and when it was reported (monotonic); absent: none was.
  std::optional<double> gpu_watts;
  // The mean use of its GPUs, 0 to 1, from the same report; absent: the report did not have it.
  std::optional<double> gpu_use;
  absl::Time measured = absl::InfinitePast();
};

// Tracks the streams of node agents and the latest report of each node. Who may speak for a node is
// decided before Attach(). Thread-safe.
class NodeBoard {
 public:
  // Agents are told to send something at least this often.
  static constexpr absl::Duration kHeartbeat = absl::Minutes(1);
  // A measured power counts for this long: five heartbeats.
  static constexpr absl::Duration kPowerAge = absl::Minutes(5);
  // A measured use counts for this long: two heartbeats.
  static constexpr absl::Duration kUseAge = absl::Minutes(2);
  // The most nodes that are remembered: more than any cluster has.
  static constexpr size_t kMaxNodes = 100'000;

  explicit NodeBoard(const Clock& clock) : clock_(clock) {}

  // As in AgentRegistry: a standby answers every hello with NotLeader{address}, and one that was
  // the leader says so to its agents, ends their streams and forgets all reports.
  void SetLeader();
  void SetStandby(const std::string& leader_address);

  // Queues Welcome on `stream` and returns the attachment's id; on a standby it queues NotLeader
  // and returns 0. A node's older stream is closed. Errors: kInvalidArgument (the hello names no
  // node), kResourceExhausted (kMaxNodes).
  absl::StatusOr<uint64_t> Attach(const v1alpha1::NodeHello& hello,
                                  std::shared_ptr<AgentStream> stream);
  // kResourceExhausted ends the stream: see stream_quota.h.
  absl::Status Receive(uint64_t attachment, v1alpha1::AgentMessage message);
  void Detach(uint64_t attachment);

  // Returns what is known, by node.
  std::map<std::string, NodeNews> Nodes() const;
  // Return the power and the use of the node's GPUs, unless the report is older than kPowerAge and
  // kUseAge.
  std::optional<double> GpuWatts(const std::string& node) const;
  std::optional<double> GpuUse(const std::string& node) const;
  int attached() const;
  // Ends every stream; agents will dial again.
  void CloseAll(const absl::Status& reason);

 private:
  struct Node {
    NodeNews news;
    std::shared_ptr<AgentStream> stream;
    uint64_t attachment = 0;
    StreamQuota quota;
  };
  void EndLocked(Node& node, const absl::Status& reason) MUSTER_REQUIRES(mu_);
  // Returns the node's news, or null if the last report of its power is older than `age`.
  const NodeNews* MeasuredLocked(const std::string& node, absl::Duration age) const
      MUSTER_REQUIRES(mu_);

  const Clock& clock_;
  mutable Mutex mu_;
  bool leader_ MUSTER_GUARDED_BY(mu_) = false;
  std::string leader_address_ MUSTER_GUARDED_BY(mu_);
  uint64_t next_attachment_ MUSTER_GUARDED_BY(mu_) = 1;
  std::map<std::string, Node> nodes_ MUSTER_GUARDED_BY(mu_);
  std::unordered_map<uint64_t, std::string> attachments_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_NODE_BOARD_H_
