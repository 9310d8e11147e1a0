#ifndef MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_TRIAL_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_TRIAL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queue_room.h"
#include "operator/queue/book/quota_tree.h"
#include "operator/queue/room/gang_trial.h"
#include "operator/queue/room/victim_options.h"

namespace muster::control {

// A running job that may be a victim, and how much of it a trial leaves.
struct VictimCandidate {
  JobEntry* entry = nullptr;
  bool reclaim = false;
  // Includes the losses of the jobs that it will stop in turn once it waits again.
  double stop_cost = 0;
  double shrink_cost = 0;
  int workers = 0;  // without those that were told to go
  int min = 0;      // it cannot be shrunk below this; workers, if it is not elastic
  // Workers from this index on are beyond the size that it asks for: it yields them to any job.
  int extras_from = 0;
  bool stoppable = true;  // false: it keeps `min`
  // Why it gives up workers below extras_from.
  ScheduleReason below = ScheduleReason::kPriority;
  int unit = 1;            // it shrinks by multiples of this number of workers
  std::vector<int> nodes;  // by worker; -1: unknown
  int keep = 0;            // workers left in the trial

  ScheduleReason Reason() const;
  // Orders the shrunk jobs that get back workers that the newcomer does not need: first the jobs
  // that are not its victims by priority or quota, then the most expensive ones.
  bool IsGivenBackBefore(const VictimCandidate& other) const {
    const bool peer = below == ScheduleReason::kBacklog;
    const bool other_peer = other.below == ScheduleReason::kBacklog;
    return peer != other_peer ? peer : shrink_cost > other.shrink_cost;
  }
  // Returns the sizes above `keep`, up to `most`, that the job may have, ascending.
  std::vector<int> LargerKeeps(int most) const;
};

// A trial that shrinks or stops some jobs, one by one, and can undo each change. It starts from the
// state in which all claimants have come, and all workers have gone that were told to go or whose
// jobs end by themselves within the grace period.
class VictimTrial {
 public:
  VictimTrial(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
              const JobEntry& newcomer, const VictimOptions& options);

  std::vector<VictimCandidate>& candidates() { return candidates_; }
  const GangTrial& gang() const { return gang_; }
  const QuotaUse& use() const { return room_.use(); }
  const QuotaNeed& need() const { return need_; }
  int queue() const { return queue_; }

  // Leaves the job `keep` workers.
  void SetKeep(VictimCandidate& candidate, int keep);
  // Has all jobs yield the workers beyond the size that they ask for.
  void YieldExtras();
  // Does the same, and shrinks elastic jobs as far as allowed, the newcomer's own queue first.
  void ShrinkAll();
  // Gives back to the shrunk jobs, one after the other, the most workers with which `holds` still
  // returns true. Workers beyond the size that a job asks for are given back last, because they
  // are to go first.
  void GiveBackShrunk(absl::FunctionRef<bool()> holds);
  // Returns true if workers may be taken from the job at all, as the trial stands.
  bool MayTake(const VictimCandidate& candidate) const;

  // True if borrowers may be taken from only when some of the newcomer's own queue have gone.
  bool must_evict_own_queue_first() const { return own_first_; }
  // Returns true if quota and the limit of the newcomer's namespace have room, and nothing beyond
  // its nominal quota was taken from borrowers.
  bool QuotaFits() const { return room_.Fits(workers_) && RespectsNominalQuota(); }
  bool Fits() const { return gang_.Fits() && QuotaFits(); }
  bool FitsIn(int domain) const { return gang_.FitsIn(domain) && QuotaFits(); }

 private:
  // Returns true if the job can give workers up: none of them is leaving, or they were told to in
  // this cycle and others stay.
  static bool CanGive(absl::Time now, const JobEntry& entry, const VictimOptions& options);
  void LetLeaversGo(absl::Time now, const QueueBook::State& state, const TopologyTree& tree,
                    absl::Duration grace);
  void LetClaimantsCome(const JobEntry& newcomer, const Claims& claims);
  bool RespectsNominalQuota() const;
  // Gives back to the job as many workers as `holds` lets it have, up to `most`.
  void GiveBack(VictimCandidate& candidate, int most, absl::FunctionRef<bool()> holds);
  VictimCandidate CandidateOf(absl::Time now, const TopologyTree& tree, JobEntry& entry,
                              const VictimOptions& options) const;
  void PriceFollowUps(absl::Time now, const QueueBook::State& state);
  void Collect(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
               const JobEntry& newcomer, const VictimOptions& options);
  // Adds the jobs that may not be taken from and have workers beyond the size that they ask for.
  void CollectYielding(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
                       const VictimOptions& options);

  GangTrial gang_;
  QueueRoom room_;
  const int queue_;
  const int workers_;
  QuotaNeed need_;     // the newcomer's, of limited resources
  QuotaNeed lacking_;  // the part of it that was lacking at first
  std::vector<VictimCandidate> candidates_;
  bool own_first_ = false;
  std::map<int, int> taken_;  // workers taken, but not yielded, by borrowing queue
};

// Returns the time from which elastic jobs of the newcomer's queue may be shrunk for it: that of
// the queue's shrink_after. Returns nothing if that time has passed, or if no job of the queue
// could give workers. O(running jobs of the queue).
std::optional<absl::Time> ShrinkForItAt(absl::Time now, const QueueBook::State& state,
                                        const JobEntry& newcomer);

// Returns when the first job whose place the newcomer might take has run its queue's min_runtime;
// nothing if min_runtime protects none of them. O(running jobs).
std::optional<absl::Time> FirstUnprotected(absl::Time now, const QueueBook::State& state,
                                           const JobEntry& newcomer);

// Returns true if the limit of the newcomer's namespace would admit its smallest size after all
// jobs there whose place it may take have gone. Looks at the queue's running jobs only.
bool NamespaceMayMakeRoom(absl::Time now, const QueueBook::State& state, const JobEntry& newcomer);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_TRIAL_H_
