#ifndef MUSTER_OPERATOR_QUEUE_ROOM_CLAIMS_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_CLAIMS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queue_room.h"

namespace muster::control {

// A waiting job, and the room that it gets once the leavers have gone.
struct Claim {
  JobEntry* job = nullptr;
  int workers = 0;
  // Indices of the tree, one for each worker; empty: not known, only quota is claimed.
  std::vector<int> nodes;
};

// Allots room to waiting jobs for one cycle: the room that is free, and the room that leavers will
// free. No quota and no room on a node is claimed twice. Tree and state must outlive it, and the
// tree must keep its shape.
class Claims {
 public:
  // Workers that were told to go, or that end by themselves, are gone after `grace`. `gate` is as
  // in ScheduleOptions.
  Claims(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
         absl::Duration grace, GangGate* gate);

  const std::vector<Claim>& all() const { return claims_; }
  // Returns true if some workers were told to go and have not gone yet.
  bool HasLeavers();
  const Claim* Find(const JobEntry& job) const;
  // Returns the time by which all jobs that make room for this one have gone. Without any such job,
  // the time by which all leavers have gone.
  absl::Time ReadyAt(const JobEntry& job) const;
  // The amounts that a queue's jobs claim, by resource index; empty: none.
  const std::vector<int64_t>& Of(int queue) const;

  // Claims future room for up to `most` workers. Returns false, and claims nothing, if the smallest
  // size will not fit. A job has at most one claim.
  bool Add(JobEntry& job, int most);
  // Does the same for room that was found by rules that Place does not know. If Place finds no
  // nodes, only quota is claimed.
  void AddByRules(JobEntry& job, int workers);
  void Withdraw(const JobEntry& job);
  // Withdraws and returns the claims of jobs of the same queue that come after this one.
  std::vector<Claim> WithdrawAfter(const JobEntry& job);

  // Records that a running job was told to shrink from `kept` to `keep` workers.
  void Told(const JobEntry& job, int keep, int kept);
  // Records that a job got these nodes, in tree and book.
  void Started(const JobEntry& job, const std::vector<int>& nodes);

  // Returns a claimant that loses its room if `job` gets more workers on these nodes, or null.
  const JobEntry* WhoIsDelayed(const JobEntry& job, const std::vector<int>& nodes) const;
  // The most workers up to `most` that quota leaves the job beside all claims of others.
  int64_t RoomInQuota(const JobEntry& job, int64_t most) const;
  // Amounts that are free on nodes now and kept for claimants, by node index.
  std::vector<std::pair<int, Resources>> Held() const;

 private:
  QueueRoom RoomBeside(const JobEntry& job) const;
  void CollectLeavers();
  // Frees the leaver's share of nodes in Future().
  void Release(const Leaver& leaver);
  // The tree once all leavers have gone and all claimants have come.
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

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_CLAIMS_H_
