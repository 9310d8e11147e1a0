#ifndef MUSTER_OPERATOR_QUEUE_DECISION_INPUT_H_
#define MUSTER_OPERATOR_QUEUE_DECISION_INPUT_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/decision.h"
#include "operator/queue/queue_book.h"
#include "operator/queue/refusal_memo.h"
#include "operator/queue/schedule.h"

// One cycle of Schedule from outside: all that went into it as plain values, so that it can be run
// again elsewhere. Pure.
namespace muster::control {

struct DecisionInput {
  absl::Time now = absl::UnixEpoch();
  Snapshot snapshot;  // its options' gate and refused are null
  // What the gate said, by job UID; jobs it was not asked about are not there.
  std::map<std::string, std::shared_ptr<const GangNodes>> nodes_for;
  // And to its questions about places, in their order.
  std::map<std::string, std::vector<std::optional<GangAnswer>>> places_for;
  // What had been refused in cycles before.
  std::vector<RefusalMemo::Entry> refused;
};

// Runs Schedule as it is, and sets `input` to what went into it. Costs a copy of all nodes and
// jobs.
std::vector<Decision> ScheduleAndCapture(absl::Time now, TopologyTree& tree, QueueBook& book,
                                         const ScheduleOptions& options, DecisionInput& input);

// The same input without a decision; the gate is asked about the jobs `asked` and no others.
DecisionInput Capture(absl::Time now, const TopologyTree& tree, const QueueBook& book,
                      const ScheduleOptions& options, const std::vector<std::string>& asked);

// The same decisions again.
std::vector<Decision> Replay(const DecisionInput& input);

// Says what the input's gate said. The input must outlive it.
std::unique_ptr<GangGate> GateOf(const DecisionInput& input);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_DECISION_INPUT_H_
