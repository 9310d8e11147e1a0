#ifndef MUSTER_OPERATOR_QUEUE_ROOM_MAKER_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_MAKER_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/cycle_context.h"
#include "operator/queue/room/claims.h"
#include "operator/queue/room/victims.h"
#include "operator/queue/schedule_options.h"

namespace muster::control {

// Makes other jobs give up workers for one that cannot start, and claims the room for it. Decisions
// about the others join the cycle's; `decision` is always the one about the job that asks. The
// cycle must outlive it. It counts what the searches of the cycle have cost.
class RoomMaker {
 public:
  explicit RoomMaker(CycleContext& cycle);

  // Makes room for at least `least` workers, and for as many as nominal quota gives its queue.
  // Returns true if somebody goes for it, now or because of an earlier cycle. `claimed` is the
  // claim that the job had before its turn.
  bool MakeRoom(JobEntry& entry, int least, const std::optional<Claim>& claimed,
                Decision& decision);
  // Lets a job that its namespace's limit keeps out take the place of others of the namespace only.
  void AskNamespace(JobEntry& entry, const std::optional<Claim>& claimed, Decision& decision);
  // Moves other jobs to other nodes if the job gains more by that than they lose.
  void Defragment(JobEntry& entry, Decision& decision);

  // Returns true if the next job of the queue may ask for room as well.
  bool GoesOn(const JobEntry& entry, const Decision& decision) const;
  // Adds to the detail when the first job that min_runtime protects from `entry` may be stopped,
  // and when elastic jobs of its queue may be shrunk for it.
  void ExplainProtection(const JobEntry& entry, Decision& decision) const;

 private:
  // Renews the job's claim if it covers `least` workers and still has room, without new victims.
  bool ClaimAgain(JobEntry& entry, int least, const std::optional<Claim>& claimed,
                  Decision& decision);
  void Evict(const Victim& victim, const JobEntry& newcomer, const VictimPlan& plan);

  const absl::Time now_;
  const TopologyTree& tree_;
  QueueBook::State& state_;
  const ScheduleOptions& options_;
  Claims& claims_;
  std::vector<Decision>& decisions_;
  int64_t searched_ = 0;  // jobs and nodes that searches for victims have looked at
  std::set<std::pair<int, std::string>> full_;  // namespaces of queues that are at their limit
  std::set<const JobEntry*> shrunk_;            // running jobs that were told to shrink
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_MAKER_H_
