#ifndef MUSTER_OPERATOR_QUEUE_CYCLE_H_
#define MUSTER_OPERATOR_QUEUE_CYCLE_H_

#include <optional>
#include <queue>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/placement.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/order.h"
#include "operator/queue/book/queue_state.h"
#include "operator/queue/cycle_context.h"
#include "operator/queue/place_search.h"
#include "operator/queue/room/claims.h"
#include "operator/queue/room/reservations.h"
#include "operator/queue/room_maker.h"
#include "operator/queue/schedule.h"

namespace muster::control {

// Runs one cycle of Schedule on its arguments: gives queues their turns, and decides about the job
// whose turn it is. Run() may be called once.
class Cycle {
 public:
  Cycle(absl::Time now, TopologyTree& tree, QueueBook::State& state, const ScheduleOptions& options)
      : context_(now, tree, state, options) {}

  std::vector<Decision> Run();

 private:
  // A queue's turn: the next of its jobs, and whether one has been passed over.
  struct Turn {
    OrderKey key;
    int queue = 0;
    std::set<JobEntry*, WaitsBefore>::iterator next;
    const JobEntry* head = nullptr;  // the first that can neither start nor get room made
    bool claims = false;             // others make room for an earlier job
    int looked_at = 0;               // jobs behind the head

    bool behind() const { return head != nullptr || claims; }
  };
  struct TurnAfter {
    bool operator()(const Turn& a, const Turn& b) const { return ComesBefore(b.key, a.key); }
  };
  void Offer(Turn turn);
  void Take(Turn turn);
  // Returns true if that is what keeps a job that fits nowhere from starting, and sets kFitsNowhere
  // if more nodes are all that it waits for. False: it has a place, or waits for no resources.
  bool WaitsForNodes(const JobEntry& entry, Decision& decision) const;
  // Starts the job, or says why not.
  Decision Try(JobEntry& entry, const Turn& turn);
  const JobEntry* WhoIsDelayed(const JobEntry& entry, const Placement& placement);
  void Start(JobEntry& entry, Placement placement, bool behind, Decision& decision);
  // Makes room for the first job of a queue that cannot start, or reserves a time for it.
  void HandleHead(JobEntry& entry, Decision& decision);

  CycleContext context_;
  const absl::Time now_ = context_.now;
  TopologyTree& tree_ = context_.tree;
  QueueBook::State& state_ = context_.state;
  const ScheduleOptions& options_ = context_.options;
  Reservations& reservations_ = context_.reservations;
  Claims& claims_ = context_.claims;
  std::vector<Decision>& decisions_ = context_.decisions;
  PlaceSearch places_{context_};
  RoomMaker room_{context_};
  // The claim that the job whose turn it is had before.
  std::optional<Claim> claimed_;
  bool held_by_claim_ = false;  // WhoIsDelayed last returned a claimant
  std::priority_queue<Turn, std::vector<Turn>, TurnAfter> turns_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_CYCLE_H_
