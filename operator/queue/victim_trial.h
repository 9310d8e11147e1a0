#ifndef MUSTER_OPERATOR_QUEUE_VICTIM_TRIAL_H_
#define MUSTER_OPERATOR_QUEUE_VICTIM_TRIAL_H_

#include <cstdint>
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
  double stop_cost = 0;
  double shrink_cost = 0;
  int workers = 0;
  int min = 0;             // it cannot be shrunk below this; workers, if it is not elastic
  int unit = 1;            // it shrinks by so many workers at a time
  std::vector<int> nodes;  // by worker; -1: unknown
  int keep = 0;            // in the trial
};

// What would be if some jobs were shrunk or stopped: changed and undone job by job. Starts as the
// world will be when what was told to go has gone.
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

  // By quota and by the limit of the newcomer's namespace.
  bool QuotaFits() const { return room_.Fits(workers_); }
  bool Fits() const { return gang_.Fits() && QuotaFits(); }
  bool FitsIn(int domain) const { return gang_.FitsIn(domain) && QuotaFits(); }

 private:
  void LetLeaversGo(const QueueBook::State& state, const TopologyTree& tree);
  void Collect(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
               const JobEntry& newcomer, const VictimOptions& options);

  GangTrial gang_;
  QueueRoom room_;
  const int queue_;
  const int workers_;
  QuotaNeed need_;     // of the newcomer, where it is limited
  QuotaNeed lacking_;  // of that, when nobody has gone that was not told to before
  std::vector<VictimCandidate> candidates_;
};

// Whether the limit of the newcomer's namespace would let its smallest size in if those of the
// namespace went that it may take the place of. Looks at the queue's running jobs only.
bool NamespaceMayMakeRoom(absl::Time now, const QueueBook::State& state, const JobEntry& newcomer);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_VICTIM_TRIAL_H_
