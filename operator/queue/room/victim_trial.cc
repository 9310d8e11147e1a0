#include "operator/queue/room/victim_trial.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace muster::control {
namespace {

std::shared_ptr<const GangNodes> NodesOf(GangGate* gate, const JobEntry& job) {
  return gate == nullptr ? nullptr : gate->NodesFor(job.job.uid);
}

int SizeOf(const JobEntry& newcomer, const VictimOptions& options) {
  return options.workers > 0 ? options.workers : newcomer.job.request.min;
}

GangRequest RequestOf(const JobEntry& newcomer, const VictimOptions& options) {
  GangRequest request = newcomer.job.request;
  request.min = SizeOf(newcomer, options);
  return request;
}

QuotaNeed LimitedNeed(const QuotaTree& tree, const JobEntry& job, int workers) {
  QuotaNeed need;
  for (const auto& [resource, amount] : job.Need(workers)) {
    if (tree.is_limited(job.queue, resource)) need.push_back({resource, amount});
  }
  return need;
}

// No job is stopped for one that it would come before when it waits again.
bool MayPreempt(absl::Time now, const QueueBook::State& state, const JobEntry& newcomer,
                const JobEntry& victim) {
  const QueueSpec& spec = state.queues[newcomer.queue].spec;
  return spec.preempt_within_queue == PreemptWithinQueue::kLowerPriority && newcomer.job.preempts &&
         victim.job.priority < newcomer.job.priority && state.RankOf(victim, now) < newcomer.rank;
}

bool IsElasticPeer(const JobEntry& newcomer, const JobEntry& victim) {
  return newcomer.job.preempts && victim.job.priority <= newcomer.job.priority &&
         victim.job.workers() > victim.job.request.min;
}

bool MayShrink(absl::Time now, const QueueBook::State& state, const JobEntry& newcomer,
               const JobEntry& victim) {
  return state.ShrinksOthersFrom(newcomer) <= now && IsElasticPeer(newcomer, victim);
}

// The same as MayPreempt for a job that is stopped, when it waits again.
bool WouldPreempt(absl::Time now, const QueueBook::State& state, const JobEntry& stopped,
                  const JobEntry& other) {
  return stopped.job.preempts && other.job.priority < stopped.job.priority &&
         state.RankOf(other, now) < state.RankOf(stopped, now);
}

bool PolicyLetsReclaim(const QueueSpec& spec, const JobEntry& newcomer, const JobEntry& victim) {
  if (spec.reclaim == ReclaimFrom::kNever) return false;
  return spec.reclaim == ReclaimFrom::kAny || victim.job.priority < newcomer.job.priority;
}

}  // namespace

VictimTrial::VictimTrial(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
                         const JobEntry& newcomer, const VictimOptions& options)
    : gang_(tree, RequestOf(newcomer, options), NodesOf(options.gate, newcomer).get()),
      room_(state, newcomer),
      queue_(newcomer.queue),
      workers_(SizeOf(newcomer, options)),
      need_(LimitedNeed(*state.tree, newcomer, SizeOf(newcomer, options))) {
  LetLeaversGo(now, state, tree, options.stop_grace);
  if (options.claims != nullptr) LetClaimantsCome(newcomer, *options.claims);
  lacking_ = use().Lacking(queue_, need_);
  Collect(now, tree, state, newcomer, options);
}

void VictimTrial::LetClaimantsCome(const JobEntry& newcomer, const Claims& claims) {
  for (const Claim& claim : claims.all()) {
    if (claim.job == &newcomer) continue;
    room_.Come(*claim.job, claim.workers);
    for (int node : claim.nodes) gang_.Take(node, claim.job->job.request.per_worker);
  }
}

void VictimTrial::LetLeaversGo(absl::Time now, const QueueBook::State& state,
                               const TopologyTree& tree, absl::Duration grace) {
  for (const Leaver& leaver : state.LeaversAfter(now, grace)) {
    room_.Leave(*leaver.entry, leaver.to - leaver.from);
    for (int i = leaver.from; i < leaver.to; ++i) {
      const int node = leaver.entry->NodeOf(tree, i);
      if (node >= 0) gang_.Release(node, leaver.entry->job.request.per_worker);
    }
  }
}

VictimCandidate VictimTrial::CandidateOf(absl::Time now, const TopologyTree& tree, JobEntry& entry,
                                         const VictimOptions& options) const {
  VictimCandidate candidate;
  candidate.entry = &entry;
  candidate.reclaim = entry.queue != queue_;
  candidate.stop_cost = CostOfStopping(entry.job, now, options);
  candidate.shrink_cost = CostOfShrinking(entry.job, options);
  candidate.workers = candidate.keep = StayingAfter(entry.job, now, options.stop_grace);
  candidate.stoppable = candidate.workers == entry.job.workers();
  if (candidate.reclaim) candidate.below = ScheduleReason::kReclaimed;
  const std::vector<Slice>& slices = entry.job.request.slices;
  if (!slices.empty()) candidate.unit = std::max(1, slices.front().size);
  candidate.min = std::clamp(entry.job.request.min, 1, candidate.workers);
  candidate.min += (candidate.workers - candidate.min) % candidate.unit;
  candidate.extras_from = std::min(entry.job.request.max, candidate.workers);
  for (int i = 0; i < candidate.workers; ++i) candidate.nodes.push_back(entry.NodeOf(tree, i));
  return candidate;
}

bool VictimTrial::CanGive(absl::Time now, const JobEntry& entry, const VictimOptions& options) {
  const int staying = StayingAfter(entry.job, now, options.stop_grace);
  if (staying == entry.job.workers()) return true;
  return staying > 0 && options.shrunk != nullptr && options.shrunk->contains(&entry);
}

void VictimTrial::Collect(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
                          const JobEntry& newcomer, const VictimOptions& options) {
  const QueueSpec& spec = state.queues[newcomer.queue].spec;
  auto is_open = [&](const JobEntry& entry) {
    return CanGive(now, entry, options) && state.ProtectedUntil(entry) <= now;
  };
  // The newcomer may be within its nominal quota once the victims in its own queue have gone.
  QuotaUse without_own = use();
  if (SizeOf(newcomer, options) <= newcomer.job.request.min) {
    for (JobEntry* entry : state.queues[queue_].running) {
      const bool preempts = MayPreempt(now, state, newcomer, *entry);
      if (!is_open(*entry) || !(preempts || MayShrink(now, state, newcomer, *entry))) continue;
      candidates_.push_back(CandidateOf(now, tree, *entry, options));
      VictimCandidate& candidate = candidates_.back();
      if (!preempts) candidate.below = ScheduleReason::kBacklog;
      candidate.stoppable = candidate.stoppable && preempts;
      const int left = candidate.stoppable ? 0 : candidate.min;
      without_own.Remove(queue_, entry->Need(candidate.workers - left));
    }
  }
  for (int q = 0; q < static_cast<int>(state.queues.size()); ++q) {
    if (q == queue_ || !without_own.MayReclaim(queue_, need_, lacking_, q)) continue;
    own_first_ = own_first_ || !use().MayReclaim(queue_, need_, lacking_, q);
    for (JobEntry* entry : state.queues[q].running) {
      if (!is_open(*entry) || !PolicyLetsReclaim(spec, newcomer, *entry)) continue;
      candidates_.push_back(CandidateOf(now, tree, *entry, options));
    }
  }
  CollectYielding(now, tree, state, options);
  PriceFollowUps(now, state);
  // Sorted by UID, so that the decision does not depend on the order of queues.
  std::sort(candidates_.begin(), candidates_.end(),
            [](const auto& a, const auto& b) { return a.entry->job.uid < b.entry->job.uid; });
}

void VictimTrial::CollectYielding(absl::Time now, const TopologyTree& tree,
                                  const QueueBook::State& state, const VictimOptions& options) {
  std::set<const JobEntry*> known;
  for (const VictimCandidate& candidate : candidates_) known.insert(candidate.entry);
  for (const QueueEntry& queue : state.queues) {
    for (JobEntry* entry : queue.running) {
      const QueuedJob& job = entry->job;
      if (job.extra_workers() == 0 || known.contains(entry)) continue;
      if (!CanGive(now, *entry, options)) continue;
      VictimCandidate candidate = CandidateOf(now, tree, *entry, options);
      candidate.min = candidate.extras_from;
      candidate.stoppable = false;
      candidates_.push_back(std::move(candidate));
    }
  }
}

// A job that is stopped comes again, and takes in turn what it may. Jobs of lower priority are
// priced first, so that a price includes the prices of those it takes from.
void VictimTrial::PriceFollowUps(absl::Time now, const QueueBook::State& state) {
  const QueueSpec& spec = state.queues[queue_].spec;
  const bool reclaims = use().WithinQuota(queue_, need_);
  std::vector<VictimCandidate*> own;
  for (VictimCandidate& candidate : candidates_) {
    if (!candidate.reclaim && candidate.stoppable) own.push_back(&candidate);
  }
  std::stable_sort(own.begin(), own.end(), [](const auto* a, const auto* b) {
    return a->entry->job.priority < b->entry->job.priority;
  });
  for (VictimCandidate* stopped : own) {
    struct Offer {
      double price;
      int64_t units;
    };
    std::vector<Offer> offers;
    for (const VictimCandidate& other : candidates_) {
      const bool may = other.reclaim
                           ? reclaims && PolicyLetsReclaim(spec, *stopped->entry, *other.entry)
                           : WouldPreempt(now, state, *stopped->entry, *other.entry);
      const int64_t units = BillableUnits(other.entry->job, other.workers);
      if (may && other.stoppable)
        offers.push_back({other.stop_cost / static_cast<double>(units), units});
    }
    std::sort(offers.begin(), offers.end(),
              [](const Offer& a, const Offer& b) { return a.price < b.price; });
    int64_t units = BillableUnits(stopped->entry->job, stopped->workers);
    for (const Offer& offer : offers) {
      const int64_t taken = std::min(units, offer.units);
      stopped->stop_cost += offer.price * static_cast<double>(taken);
      units -= taken;
    }
  }
}

void VictimTrial::SetKeep(VictimCandidate& candidate, int keep) {
  const int from = std::min(keep, candidate.keep);
  const int to = std::max(keep, candidate.keep);
  const bool goes = keep < candidate.keep;
  const Resources& each = candidate.entry->job.request.per_worker;
  for (int i = from; i < to; ++i) {
    if (candidate.nodes[i] < 0) continue;
    gang_.Release(candidate.nodes[i], each, goes ? 1 : -1);
  }
  if (goes) {
    room_.Leave(*candidate.entry, to - from);
  } else {
    room_.Come(*candidate.entry, to - from);
  }
  candidate.keep = keep;
  const int asked = std::min(to, candidate.extras_from) - std::min(from, candidate.extras_from);
  if (candidate.reclaim) taken_[candidate.entry->queue] += goes ? asked : -asked;
}

ScheduleReason VictimCandidate::Reason() const {
  return keep >= extras_from ? ScheduleReason::kYielded : below;
}

std::vector<int> VictimCandidate::LargerKeeps(int most) const {
  std::vector<int> keeps;
  for (int size = keep + unit; size <= std::min(most, extras_from); size += unit) {
    keeps.push_back(size);
  }
  for (const int size : entry->job.larger_sizes) {
    if (size > keep && size < std::min(most, workers)) keeps.push_back(size);
  }
  if (most >= workers && workers > extras_from && workers > keep) keeps.push_back(workers);
  return keeps;
}

void VictimTrial::YieldExtras() {
  for (VictimCandidate& candidate : candidates_) {
    if (candidate.keep > candidate.extras_from) SetKeep(candidate, candidate.extras_from);
  }
}

void VictimTrial::ShrinkAll() {
  YieldExtras();
  for (const bool reclaim : {false, true}) {
    for (VictimCandidate& candidate : candidates_) {
      if (candidate.reclaim != reclaim) continue;
      while (candidate.keep > candidate.min && MayTake(candidate)) {
        SetKeep(candidate, std::max(candidate.min, candidate.keep - candidate.unit));
      }
    }
  }
}

void VictimTrial::GiveBackShrunk(absl::FunctionRef<bool()> holds) {
  std::vector<VictimCandidate*> order;
  for (VictimCandidate& candidate : candidates_) {
    if (candidate.keep > 0 && candidate.keep < candidate.workers) order.push_back(&candidate);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->IsGivenBackBefore(*b); });
  for (VictimCandidate* candidate : order) GiveBack(*candidate, candidate->extras_from, holds);
  for (VictimCandidate* candidate : order) {
    if (candidate->keep >= candidate->extras_from) GiveBack(*candidate, candidate->workers, holds);
  }
}

void VictimTrial::GiveBack(VictimCandidate& candidate, int most, absl::FunctionRef<bool()> holds) {
  const int kept = candidate.keep;
  const std::vector<int> keeps = candidate.LargerKeeps(most);
  size_t fit = 0;  // that many of them fit
  size_t too_many = keeps.size() + 1;
  // Most jobs need not shrink at all, so that is tried first.
  for (size_t next = keeps.size(); too_many - fit > 1; next = (fit + too_many) / 2) {
    SetKeep(candidate, keeps[next - 1]);
    (holds() ? fit : too_many) = next;
  }
  SetKeep(candidate, fit == 0 ? kept : keeps[fit - 1]);
}

bool VictimTrial::RespectsNominalQuota() const {
  if (!own_first_) return true;
  return std::all_of(taken_.begin(), taken_.end(), [this](const auto& taken) {
    return taken.second == 0 || use().StaysWithin(queue_, need_, taken.first);
  });
}

bool VictimTrial::MayTake(const VictimCandidate& candidate) const {
  if (candidate.keep > candidate.extras_from) return true;
  return !candidate.reclaim || use().MayReclaim(queue_, need_, lacking_, candidate.entry->queue);
}

std::optional<absl::Time> ShrinkForItAt(absl::Time now, const QueueBook::State& state,
                                        const JobEntry& newcomer) {
  const absl::Time from = state.ShrinksOthersFrom(newcomer);
  if (from <= now || from == absl::InfiniteFuture()) return std::nullopt;
  const auto& running = state.queues[newcomer.queue].running;
  const bool some = std::any_of(running.begin(), running.end(), [&](const JobEntry* entry) {
    return entry->job.leaving == 0 && IsElasticPeer(newcomer, *entry);
  });
  return some ? std::optional(from) : std::nullopt;
}

std::optional<absl::Time> FirstUnprotected(absl::Time now, const QueueBook::State& state,
                                           const JobEntry& newcomer) {
  const QuotaNeed need = LimitedNeed(*state.tree, newcomer, newcomer.job.request.min);
  const QuotaNeed lacking = state.use->Lacking(newcomer.queue, need);
  absl::Time first = absl::InfiniteFuture();
  for (int q = 0; q < static_cast<int>(state.queues.size()); ++q) {
    const QueueEntry& queue = state.queues[q];
    const bool own = q == newcomer.queue;
    const bool reclaims = !own && state.use->MayReclaim(newcomer.queue, need, lacking, q);
    if (queue.spec.min_runtime <= absl::ZeroDuration() || !(own || reclaims)) continue;
    for (const JobEntry* entry : queue.running) {
      const absl::Time until = state.ProtectedUntil(*entry);
      const bool may =
          own ? MayPreempt(now, state, newcomer, *entry) || MayShrink(now, state, newcomer, *entry)
              : PolicyLetsReclaim(state.queues[newcomer.queue].spec, newcomer, *entry);
      if (may && until > now && entry->job.leaving == 0) first = std::min(first, until);
    }
  }
  if (first == absl::InfiniteFuture()) return std::nullopt;
  return first;
}

bool NamespaceMayMakeRoom(absl::Time now, const QueueBook::State& state, const JobEntry& newcomer) {
  QueueRoom room(state, newcomer);
  for (const JobEntry* entry : state.queues[newcomer.queue].running) {
    if (entry->job.ns != newcomer.job.ns) continue;
    const bool open = state.ProtectedUntil(*entry) <= now;
    int leave = std::max(entry->job.leaving, entry->job.extra_workers());
    if (open && MayShrink(now, state, newcomer, *entry)) {
      leave = std::max(leave, entry->job.workers() - entry->job.request.min);
    }
    if (open && MayPreempt(now, state, newcomer, *entry)) leave = entry->job.workers();
    room.Leave(*entry, leave);
  }
  return !room.ShortOf(newcomer.job.request.min).of_namespace;
}

}  // namespace muster::control
