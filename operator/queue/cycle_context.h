#ifndef MUSTER_OPERATOR_QUEUE_CYCLE_CONTEXT_H_
#define MUSTER_OPERATOR_QUEUE_CYCLE_CONTEXT_H_

#include <vector>

#include "absl/time/time.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/room/claims.h"
#include "operator/queue/room/reservations.h"
#include "operator/queue/schedule_options.h"

namespace muster::control {

// The values on which all parts of one cycle work: the arguments of Schedule, and the promises and
// decisions made so far. The parts keep references to it, so it is neither copied nor moved.
struct CycleContext {
  CycleContext(absl::Time now, TopologyTree& tree, QueueBook::State& state,
               const ScheduleOptions& options)
      : now(now),
        tree(tree),
        state(state),
        options(options),
        reservations(now, tree, state,
                     {options.stop_grace, options.reservations, options.reservations_of_nodes,
                      options.gate}),
        claims(now, tree, state, options.stop_grace, options.gate) {}
  CycleContext(const CycleContext&) = delete;
  CycleContext& operator=(const CycleContext&) = delete;

  const absl::Time now;
  TopologyTree& tree;
  QueueBook::State& state;
  const ScheduleOptions& options;
  Reservations reservations;
  Claims claims;
  std::vector<Decision> decisions;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_CYCLE_CONTEXT_H_
