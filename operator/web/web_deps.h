#ifndef MUSTER_OPERATOR_WEB_WEB_DEPS_H_
#define MUSTER_OPERATOR_WEB_WEB_DEPS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "operator/coordinator/progress/progress_board.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "operator/kube/api.h"
#include "operator/metrics/metrics.h"
#include "operator/objects/object_records.h"
#include "operator/queue/record/decision_record.h"
#include "operator/reconcile/controller.h"
#include "operator/reconcile/work_queue.h"
#include "operator/scheduler/scheduler.h"

namespace muster::control {

// The state of the leader election, for the pages.
struct LeaderView {
  bool leading = true;
  std::string identity;  // of this replica
  std::string holder;    // of the lease, as last seen; empty without an election
  int64_t lease_term = 0;
  std::string lost;  // the reason for a lost lease; empty: not lost
};

// The sources of the pages. All of them are thread-safe and must outlive the server. Functions from
// `ready` on may be null.
struct WebDeps {
  kube::Api& api;
  const JobCache& jobs;
  const PodCache& pods;
  const NodeCache& nodes;
  AgentRegistry& registry;
  const ProgressBoard& progress;
  const Controller& controller;
  const Scheduler& scheduler;
  const WorkQueue& queue;
  const Metrics& metrics;
  std::function<bool()> ready;         // the caches have synced
  std::function<LeaderView()> leader;  // null: the only replica, leading
  // Returns the number of refused agents by reason, a closed list.
  std::function<std::map<std::string, int64_t>()> refusals;
  // Returns when the coordinator's certificates expire (wall time), by name: a closed list.
  std::function<std::map<std::string, absl::Time>()> certificates;
  // Returns one of the scheduler's decisions with all of its inputs; null if none are kept.
  std::function<absl::StatusOr<DecisionRecord>(uint64_t id)> decision;
  // See PodBuilderOptions::containers.
  bool containers = false;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_WEB_DEPS_H_
