#ifndef MUSTER_OPERATOR_QUEUE_CYCLE_H_
#define MUSTER_OPERATOR_QUEUE_CYCLE_H_

#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/complete_gang.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/claims.h"
#include "operator/queue/decision.h"
#include "operator/queue/order.h"
#include "operator/queue/queue_state.h"
#include "operator/queue/refusal_memo.h"
#include "operator/queue/reservations.h"
#include "operator/queue/schedule.h"
#include "operator/queue/victims.h"

namespace muster::control {

// Runs one cycle of Schedule on its arguments. Run() may be called once.
class Cycle {
 public:
  Cycle(absl::Time now, TopologyTree& tree, QueueBook::State& state,
        const ScheduleOptions& options);

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
  // Lets a job that its namespace's limit keeps out take the place of others of the namespace only.
  void AskNamespace(JobEntry& entry, Decision& decision);
  // Renews the claims of jobs for which others were told to go, before any queue has a turn.
  void RenewClaims();
  // Returns true if the next job of the queue may ask for room as well.
  bool GoesOn(const JobEntry& entry, const Decision& decision) const;
  // Starts the job, or says why not.
  Decision Try(JobEntry& entry, const Turn& turn);
  const JobEntry* WhoIsDelayed(const JobEntry& entry, const Placement& placement);
  // Finds places that nobody claims; only room is looked at, so a social gang gets none.
  bool FindPlaceBesideClaims(const JobEntry& entry, int most, Placement& placement);
  bool MayEverStart(const JobEntry& entry, Decision& decision) const;
  // The most workers that quota and namespace leave room for; 0 and a reason if these are too few.
  int RoomInQuota(const JobEntry& entry, Decision& decision) const;
  bool FindPlace(const JobEntry& entry, int most, Placement& placement, Decision& decision);
  // Finds places for a social gang, by all its rules. Nothing: the gate does not know.
  std::optional<bool> AskGate(const JobEntry& entry, const GangRequest& request,
                              Placement& placement, Decision& decision) const;
  void Start(JobEntry& entry, Placement placement, bool behind, Decision& decision);
  // Makes room for the first job of a queue that cannot start, or reserves a time for it.
  void HandleHead(JobEntry& entry, Decision& decision);
  // Adds to the detail when the first job that min_runtime protects from `entry` may be stopped.
  void ExplainProtection(const JobEntry& entry, Decision& decision) const;
  // Renews the job's claim if it covers `least` workers and still has room, without new victims.
  bool ClaimAgain(JobEntry& entry, int least, Decision& decision);
  // Makes room for at least `least` workers, and for as many as nominal quota gives its queue.
  // Returns true if somebody goes for it, now or because of an earlier cycle.
  bool MakeRoom(JobEntry& entry, int least, Decision& decision);
  void Evict(const Victim& victim, const JobEntry& newcomer, const VictimPlan& plan);
  void Defragment(JobEntry& entry, Decision& decision);
  std::shared_ptr<const GangNodes> NodesFor(const JobEntry& entry) const;
  void GrowShrunk();
  std::optional<PartialGang> LargerGang(const JobEntry& entry) const;
  void TryToGrow(JobEntry& entry);
  std::vector<int> NodesOf(const std::vector<std::string>& names) const;

  const absl::Time now_;
  TopologyTree& tree_;
  QueueBook::State& state_;
  const ScheduleOptions& options_;
  Reservations reservations_;
  Claims claims_;
  // The claim that the job whose turn it is had before.
  std::optional<Claim> claimed_;
  bool held_by_claim_ = false;  // WhoIsDelayed last returned a claimant
  int64_t searched_ = 0;        // jobs and nodes that searches for victims have looked at
  std::priority_queue<Turn, std::vector<Turn>, TurnAfter> turns_;
  std::set<std::pair<int, std::string>> full_;  // namespaces of queues that are at their limit
  RefusalMemo refused_here_;
  RefusalMemo& refused_;  // stays true: a cycle frees nothing
  std::vector<Decision> decisions_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_CYCLE_H_
