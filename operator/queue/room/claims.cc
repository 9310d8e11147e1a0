#include "operator/queue/room/claims.h"

#include <algorithm>
#include <map>
#include <string>
#include <variant>

#include "operator/placement/placement.h"

namespace muster::control {
namespace {

bool Lacks(const Resources& free, const Resources& asked) {
  return (asked.gpus > 0 && free.gpus < asked.gpus) ||
         (asked.cpu_millis > 0 && free.cpu_millis < asked.cpu_millis) ||
         (asked.memory_bytes > 0 && free.memory_bytes < asked.memory_bytes) ||
         (asked.slots > 0 && free.slots < asked.slots);
}

}  // namespace

Claims::Claims(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
               absl::Duration grace, GangGate* gate)
    : now_(now),
      tree_(tree),
      state_(state),
      grace_(grace),
      gate_(gate),
      of_queue_(state.tree->queues()) {}

const Claim* Claims::Find(const JobEntry& job) const {
  const auto found = std::find_if(claims_.begin(), claims_.end(),
                                  [&job](const Claim& claim) { return claim.job == &job; });
  return found == claims_.end() ? nullptr : &*found;
}

bool Claims::HasLeavers() {
  CollectLeavers();
  return std::any_of(leavers_.begin(), leavers_.end(),
                     [](const Leaver& leaver) { return leaver.entry->job.leaving > 0; });
}

absl::Time Claims::ReadyAt(const JobEntry& job) const {
  absl::Time all = now_;
  absl::Time own = now_;
  for (const Leaver& leaver : leavers_) {
    const absl::Time gone = std::min(ExpectedEnd(leaver.entry->job, now_), now_ + grace_);
    all = std::max(all, gone);
    if (leaver.entry->job.leaves_for == job.job.uid) own = std::max(own, gone);
  }
  return own > now_ ? own : all;
}

const std::vector<int64_t>& Claims::Of(int queue) const { return of_queue_[queue]; }

void Claims::CollectLeavers() {
  if (collected_) return;
  collected_ = true;
  leavers_ = state_.LeaversAfter(now_, grace_);
}

void Claims::Release(const Leaver& leaver) {
  for (int i = leaver.from; i < leaver.to; ++i) {
    const int node = leaver.entry->NodeOf(tree_, i);
    if (node >= 0) future_->Charge(node, -leaver.entry->job.request.per_worker);
  }
}

TopologyTree& Claims::Future() {
  if (future_) return *future_;
  CollectLeavers();
  future_ = tree_;
  for (const Leaver& leaver : leavers_) Release(leaver);
  return *future_;
}

QueueRoom Claims::RoomBeside(const JobEntry& job) const {
  QueueRoom room(state_, job);
  for (const Leaver& leaver : leavers_) room.Leave(*leaver.entry, leaver.to - leaver.from);
  for (const Claim& claim : claims_) {
    if (claim.job != &job) room.Come(*claim.job, claim.workers);
  }
  return room;
}

int64_t Claims::RoomInQuota(const JobEntry& job, int64_t most) const {
  return RoomBeside(job).Most(most);
}

void Claims::Count(const Claim& claim, int sign) {
  std::vector<int64_t>& claimed = of_queue_[claim.job->queue];
  claimed.resize(state_.tree->resources());
  for (const auto& [resource, amount] : claim.job->Need(claim.workers)) {
    claimed[resource] += sign * amount;
  }
  for (int node : claim.nodes) Future().Charge(node, claim.job->job.request.per_worker * sign);
}

void Claims::Push(Claim claim) {
  Count(claim, 1);
  claims_.push_back(std::move(claim));
}

bool Claims::Add(JobEntry& job, int most) {
  TopologyTree& future = Future();
  GangRequest request = job.job.request;
  request.max = static_cast<int>(RoomInQuota(job, std::min(most, request.max)));
  if (request.max < request.min) return false;
  const auto usable = gate_ == nullptr ? nullptr : gate_->NodesFor(job.job.uid);
  GatedTree gated(future, usable.get(), request.per_worker);
  auto answer = Place(future, request);
  gated.Open();
  const auto* placement = std::get_if<Placement>(&answer);
  if (placement == nullptr) return false;
  Claim claim{&job, static_cast<int>(placement->nodes.size()), {}};
  for (const std::string& node : placement->nodes) claim.nodes.push_back(*future.FindNode(node));
  Push(std::move(claim));
  return true;
}

void Claims::AddByRules(JobEntry& job, int workers) {
  if (!Add(job, workers)) Push({&job, workers, {}});
}

void Claims::Withdraw(const JobEntry& job) {
  const auto found = std::find_if(claims_.begin(), claims_.end(),
                                  [&job](const Claim& claim) { return claim.job == &job; });
  if (found == claims_.end()) return;
  Count(*found, -1);
  claims_.erase(found);
}

std::vector<Claim> Claims::WithdrawAfter(const JobEntry& job) {
  std::vector<Claim> after;
  for (const Claim& claim : claims_) {
    const bool same_queue = claim.job->queue == job.queue;
    if (same_queue && WaitsBefore()(&job, claim.job)) after.push_back(claim);
  }
  for (const Claim& claim : after) Withdraw(*claim.job);
  return after;
}

void Claims::Told(const JobEntry& job, int keep, int kept) {
  if (!collected_) return;
  leavers_.push_back({&job, keep, kept});
  if (future_) Release(leavers_.back());
}

void Claims::Started(const JobEntry& job, const std::vector<int>& nodes) {
  if (!future_) return;
  for (int node : nodes) future_->Charge(node, job.job.request.per_worker);
}

const JobEntry* Claims::WhoIsDelayed(const JobEntry& job, const std::vector<int>& nodes) const {
  if (claims_.empty()) return nullptr;
  std::map<int, int64_t> workers_on;
  for (int node : nodes) ++workers_on[node];
  for (const Claim& claim : claims_) {
    for (int node : claim.nodes) {
      const auto found = workers_on.find(node);
      if (found == workers_on.end()) continue;
      if (Lacks(future_->node(node).free, job.job.request.per_worker * found->second)) {
        return claim.job;
      }
    }
  }
  const auto workers = static_cast<int64_t>(nodes.size());
  if (RoomInQuota(job, workers) >= workers) return nullptr;
  for (const Claim& claim : claims_) {
    if (state_.tree->root(claim.job->queue) == state_.tree->root(job.queue)) return claim.job;
  }
  return claims_.front().job;
}

std::vector<std::pair<int, Resources>> Claims::Held() const {
  std::map<int, Resources> held;
  for (const Claim& claim : claims_) {
    for (int node : claim.nodes) {
      const Resources lost = tree_.node(node).free - future_->node(node).free;
      held[node] = {std::max<int64_t>(0, lost.gpus), std::max<int64_t>(0, lost.cpu_millis),
                    std::max<int64_t>(0, lost.memory_bytes), std::max<int64_t>(0, lost.slots)};
    }
  }
  return {held.begin(), held.end()};
}

}  // namespace muster::control
