#include "operator/queue/victim_trial.h"

#include <algorithm>
#include <memory>
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

// Nobody is stopped for a job that it would come before when it waits again.
bool MayPreempt(absl::Time now, const QueueBook::State& state, const JobEntry& newcomer,
                const JobEntry& victim) {
  const QueueSpec& spec = state.queues[newcomer.queue].spec;
  return spec.preempt_within_queue == PreemptWithinQueue::kLowerPriority && newcomer.job.preempts &&
         victim.job.priority < newcomer.job.priority && state.RankOf(victim, now) < newcomer.rank;
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
  LetLeaversGo(state, tree);
  lacking_ = use().Lacking(queue_, need_);
  Collect(now, tree, state, newcomer, options);
}

void VictimTrial::LetLeaversGo(const QueueBook::State& state, const TopologyTree& tree) {
  for (const QueueEntry& queue : state.queues) {
    for (const JobEntry* entry : queue.running) {
      const int workers = entry->job.workers();
      const int leaving = std::min(entry->job.leaving, workers);
      if (leaving == 0) continue;
      room_.Leave(*entry, leaving);
      for (int i = workers - leaving; i < workers; ++i) {
        const int node = entry->NodeOf(tree, i);
        if (node >= 0) gang_.Release(node, entry->job.request.per_worker);
      }
    }
  }
}

void VictimTrial::Collect(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
                          const JobEntry& newcomer, const VictimOptions& options) {
  const QueueSpec& spec = state.queues[newcomer.queue].spec;
  const bool smallest = SizeOf(newcomer, options) <= newcomer.job.request.min;
  for (int q = 0; q < static_cast<int>(state.queues.size()); ++q) {
    const bool own = q == newcomer.queue;
    if (own && !smallest) continue;
    if (!own && !use().MayReclaim(queue_, need_, lacking_, q)) continue;
    for (JobEntry* entry : state.queues[q].running) {
      if (entry->job.leaving > 0) continue;
      const bool may = own ? MayPreempt(now, state, newcomer, *entry)
                           : PolicyLetsReclaim(spec, newcomer, *entry);
      if (!may) continue;
      VictimCandidate candidate;
      candidate.entry = entry;
      candidate.reclaim = !own;
      candidate.stop_cost = CostOfStopping(entry->job, now, options);
      candidate.shrink_cost = CostOfShrinking(entry->job, options);
      candidate.workers = candidate.keep = entry->job.workers();
      const std::vector<Slice>& slices = entry->job.request.slices;
      if (!slices.empty()) candidate.unit = std::max(1, slices.front().size);
      candidate.min = std::clamp(entry->job.request.min, 1, candidate.workers);
      candidate.min += (candidate.workers - candidate.min) % candidate.unit;
      for (int i = 0; i < candidate.workers; ++i) {
        candidate.nodes.push_back(entry->NodeOf(tree, i));
      }
      candidates_.push_back(std::move(candidate));
    }
  }
  // By UID: what is decided does not depend on the order of queues.
  std::sort(candidates_.begin(), candidates_.end(),
            [](const auto& a, const auto& b) { return a.entry->job.uid < b.entry->job.uid; });
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
}

void VictimTrial::ShrinkAll() {
  for (VictimCandidate& candidate : candidates_) {
    while (candidate.keep > candidate.min && MayTake(candidate)) {
      SetKeep(candidate, std::max(candidate.min, candidate.keep - candidate.unit));
    }
  }
}

bool VictimTrial::MayTake(const VictimCandidate& candidate) const {
  return !candidate.reclaim || use().MayReclaim(queue_, need_, lacking_, candidate.entry->queue);
}

bool NamespaceMayMakeRoom(absl::Time now, const QueueBook::State& state, const JobEntry& newcomer) {
  QueueRoom room(state, newcomer);
  for (const JobEntry* entry : state.queues[newcomer.queue].running) {
    if (entry->job.ns != newcomer.job.ns) continue;
    const bool may = MayPreempt(now, state, newcomer, *entry);
    room.Leave(*entry, may ? entry->job.workers() : entry->job.leaving);
  }
  return !room.ShortOf(newcomer.job.request.min).of_namespace;
}

}  // namespace muster::control
