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
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/refusal_memo.h"
#include "operator/queue/schedule.h"

// The whole input of one cycle of Schedule as plain values, to run it again elsewhere. Pure.
namespace muster::control {

struct DecisionInput {
  absl::Time now = absl::UnixEpoch();
  Snapshot snapshot;  // its options' gate and refused are null
  // The gate's answers to NodesFor by job UID; absent: not asked, or all nodes are for the job.
  std::map<std::string, std::shared_ptr<const GangNodes>> nodes_for;
  // The gate's answers to PlacesFor by job UID, in the order of the questions.
  std::map<std::string, std::vector<std::optional<GangAnswer>>> places_for;
  // Refusals that earlier cycles remembered.
  std::vector<RefusalMemo::Entry> refused;
};

// Runs Schedule and sets `input` to everything that went into it. Costs a copy of all nodes and
// jobs.
std::vector<Decision> ScheduleAndCapture(absl::Time now, TopologyTree& tree, QueueBook& book,
                                         const ScheduleOptions& options, DecisionInput& input);

// Captures the same input without deciding; the gate is asked about the jobs `asked` and no others.
DecisionInput Capture(absl::Time now, const TopologyTree& tree, const QueueBook& book,
                      const ScheduleOptions& options, const std::vector<std::string>& asked);

// Decides again; returns the decisions of the captured cycle.
std::vector<Decision> Replay(const DecisionInput& input);

// Returns a gate that repeats the answers in the input, which must outlive it.
std::unique_ptr<GangGate> GateOf(const DecisionInput& input);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_DECISION_INPUT_H_
