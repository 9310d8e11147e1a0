#ifndef MUSTER_OPERATOR_NODES_NODE_WRITER_H_
#define MUSTER_OPERATOR_NODES_NODE_WRITER_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "operator/coordinator/node_board.h"
#include "operator/kube/api.h"
#include "operator/nodes/node_wish.h"
#include "operator/objects/caches.h"

namespace muster::control {

// Writes what node agents report to the Node objects: labels, an annotation and a condition, each
// only where it differs. A node whose agent is silent gets the condition Unknown. One thread uses
// it, while its replica leads. `api`, `clock`, `board` and `nodes` must outlive it.
class NodeWriter {
 public:
  // An agent that is silent for this long, five heartbeats, is taken for gone.
  static constexpr absl::Duration kSilence = absl::Minutes(5);
  // The most nodes that one run reads from the server, so that a new leader of a large cluster goes
  // on with its other work. Nodes with a notice come first and beyond it.
  static constexpr int kNodesPerRun = 50;
  // The share of the nodes with InfiniBand or RoCE ports that may be closed for them at a time, and
  // one at least. A switch that starts anew makes the links of whole racks flap: closing them all
  // would leave their jobs nowhere to go.
  static constexpr double kMostClosed = 0.2;
  // The delay before a node is read again, unless its report changes.
  static constexpr absl::Duration kRetry = absl::Seconds(30);

  NodeWriter(kube::Api& api, const Clock& clock, const NodeBoard& board, const NodeCache& nodes)
      : api_(api), clock_(clock), board_(board), nodes_(nodes) {}

  // Begins a leadership: agents have kSilence to attach to this replica.
  void Lead();
  // Returns the number of writes.
  int RunOnce();

 private:
  struct Visit {
    int64_t version = 0;  // of the report
    bool silent = false;
    bool failed = false;     // the node may not say what it should, whatever the cache shows
    NodeCache::Object seen;  // showed all of it
    int64_t run = 0;
    absl::Time again = absl::InfinitePast();  // not before
  };
  // Visits a node that is due. Returns true if it was read from the server.
  bool Look(const NodeCache::Object& node, const NodeNews* told, absl::Time now, int& writes);
  // Leaves the ports' health of a node unknown that would be one too many to close.
  void KeepOpen(const NodeRecord& node, NodeWish& wish);
  // Returns OK if the Node says what it should; adds its writes to `writes`.
  absl::Status Write(const std::string& node, const NodeWish& wish, int& writes);

  kube::Api& api_;
  const Clock& clock_;
  const NodeBoard& board_;
  const NodeCache& nodes_;
  absl::Time leading_since_ = absl::InfiniteFuture();  // monotonic
  int64_t run_ = 0;
  // The nodes whose ports' health is known, and those among them that are closed for it.
  int with_ports_ = 0;
  int closed_ = 0;
  std::map<std::string, Visit> visits_;  // by node, of those that the last run looked for
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NODES_NODE_WRITER_H_
