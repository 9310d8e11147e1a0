#ifndef MUSTER_OPERATOR_QUEUE_VICTIM_TRIAL_H_
#define MUSTER_OPERATOR_QUEUE_VICTIM_TRIAL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/gang_trial.h"
#include "operator/queue/queue_room.h"
#include "operator/queue/queue_state.h"
#include "operator/queue/quota_tree.h"
#include "operator/queue/victims.h"

namespace muster::control {

// A running job that may be a victim, and how much of it a trial leaves.
struct VictimCandidate {
  JobEntry* entry = nullptr;
  bool reclaim = false;
  // With what those lose whom it stops in turn, once it waits again.
  double stop_cost = 0;
  double shrink_cost = 0;
  int workers = 0;
  int min = 0;             // it cannot be shrunk below this; workers, if it is not elastic
  int unit = 1;            // it shrinks by so many workers at a time
  std::vector<int> nodes;  // by worker; -1: unknown
  int keep = 0;            // in the trial
};

// What would be if some jobs were shrunk or stopped: changed and undone job by job. Starts as the
// world will be when what was told to go, or ends by itself in that time, has gone, and those who
// claim room have come.
class VictimTrial {
 public:
  VictimTrial(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
              const JobEntry& newcomer, const VictimOptions& options);

  std::vector<VictimCandidate>& candidates() { return candidates_; }
  const GangTrial& gang() const { return gang_; }
  const QuotaUse& use() const { return room_.use(); }
  const QuotaNeed& need() const { return need_; }
  int queue() const { return queue_; }

  // Leaves the job so many workers.
  void SetKeep(VictimCandidate& candidate, int keep);
  // Elastic jobs get as small as they may, the first ones first.
  void ShrinkAll();
  // Whether the job may be taken from at all, as things stand.
  bool MayTake(const VictimCandidate& candidate) const;

  // Whether borrowers may be taken from only when some of the newcomer's own queue have gone.
  bool own_first() const { return own_first_; }
  // By quota and by the limit of the newcomer's namespace, without taking from borrowers beyond
  // nominal quota.
  bool QuotaFits() const { return room_.Fits(workers_) && IsLawful(); }
  bool Fits() const { return gang_.Fits() && QuotaFits(); }
  bool FitsIn(int domain) const { return gang_.FitsIn(domain) && QuotaFits(); }

 private:
  void LetLeaversGo(absl::Time now, const QueueBook::State& state, const TopologyTree& tree,
                    absl::Duration grace);
  void LetClaimantsCome(const JobEntry& newcomer, const Claims& claims);
  bool IsLawful() const;
  VictimCandidate CandidateOf(absl::Time now, const TopologyTree& tree, JobEntry& entry,
                              const VictimOptions& options) const;
  void PriceFollowUps(absl::Time now, const QueueBook::State& state);
  void Collect(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
               const JobEntry& newcomer, const VictimOptions& options);

  GangTrial gang_;
  QueueRoom room_;
  const int queue_;
  const int workers_;
  QuotaNeed need_;     // of the newcomer, where it is limited
  QuotaNeed lacking_;  // of that, when nobody has gone that was not told to before
  std::vector<VictimCandidate> candidates_;
  bool own_first_ = false;
  std::map<int, int> taken_;  // workers of borrowing queues
};

// When the first of those whose place the newcomer might take has run its queue's least time;
// nothing: it is not that which keeps them. O(running jobs).
std::optional<absl::Time> FirstUnprotected(absl::Time now, const QueueBook::State& state,
                                           const JobEntry& newcomer);

// Whether the limit of the newcomer's namespace would let its smallest size in if those of the
// namespace went that it may take the place of. Looks at the queue's running jobs only.
bool NamespaceMayMakeRoom(absl::Time now, const QueueBook::State& state, const JobEntry& newcomer);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_VICTIM_TRIAL_H_
