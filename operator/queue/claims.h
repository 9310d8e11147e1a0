#ifndef MUSTER_OPERATOR_QUEUE_CLAIMS_H_
#define MUSTER_OPERATOR_QUEUE_CLAIMS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/queue_room.h"
#include "operator/queue/queue_state.h"

namespace muster::control {

// A waiting job, and the room that it gets when those that are on their way out have gone.
struct Claim {
  JobEntry* job = nullptr;
  int workers = 0;
  // Indices of the tree, one for each worker; empty: not known, only quota is claimed.
  std::vector<int> nodes;
};

// Of one cycle: who gets what the jobs that were told to go leave behind, and what is free besides.
// No quota and no node is claimed twice. Tree and state must outlive it; the tree keeps its shape.
class Claims {
 public:
  // What leaves, or ends by itself, is gone after `grace`. `gate` as Schedule.
  Claims(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
         absl::Duration grace, GangGate* gate);

  const std::vector<Claim>& all() const { return claims_; }
  // Whether anybody has been told to go and has not gone yet.
  bool SomebodyLeaves();
  const Claim* Find(const JobEntry& job) const;
  // When those have gone who make room for the job, or, if nobody does, all who are on their way.
  absl::Time ReadyAt(const JobEntry& job) const;
  // Of a queue, by resource index; empty: nothing is claimed.
  const std::vector<int64_t>& Of(int queue) const;

  // The job claims room for as many workers as there will be, up to `most`. False: there will not
  // be enough for its smallest size, and it claims nothing. Each job has one claim at most.
  bool Add(JobEntry& job, int most);
  // The same where rules beyond room were asked: what of it has no room by Place is claimed of
  // quota alone.
  void AddByRules(JobEntry& job, int workers);
  void Withdraw(const JobEntry& job);
  // The claims of jobs of the same queue that come after this one, withdrawn.
  std::vector<Claim> WithdrawAfter(const JobEntry& job);

  // A running job has been told to go down to `keep` workers, so far it would have kept `kept`.
  void Told(const JobEntry& job, int keep, int kept);
  // A job has got these nodes, in tree and book.
  void Started(const JobEntry& job, const std::vector<int>& nodes);

  // A claimant that would not get its room if `job` got more workers on these nodes; null: none.
  const JobEntry* WhoIsDelayed(const JobEntry& job, const std::vector<int>& nodes) const;
  // As many workers up to `most` as quota leaves the job beside all claims.
  int64_t RoomInQuota(const JobEntry& job, int64_t most) const;
  // Of what is free on nodes now, what claimants are to have.
  std::vector<std::pair<int, Resources>> Held() const;

 private:
  QueueRoom RoomBeside(const JobEntry& job) const;
  void CollectLeavers();
  // In the tree of the future.
  void Release(const Leaver& leaver);
  // The tree when all leavers have gone and all claimants have come.
  TopologyTree& Future();
  void Count(const Claim& claim, int sign);
  void Push(Claim claim);

  const absl::Time now_;
  const TopologyTree& tree_;
  const QueueBook::State& state_;
  const absl::Duration grace_;
  GangGate* const gate_;
  bool collected_ = false;
  std::vector<Leaver> leavers_;
  std::optional<TopologyTree> future_;
  std::vector<Claim> claims_;
  std::vector<std::vector<int64_t>> of_queue_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_CLAIMS_H_
