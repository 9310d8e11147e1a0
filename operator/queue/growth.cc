#include "operator/queue/growth.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "operator/placement/gang_nodes.h"
#include "operator/queue/book/queue_room.h"

namespace muster::control {
namespace {

// The most jobs that grow back in one cycle.
constexpr int kMostGrowing = 50;

}  // namespace

Growth::Growth(CycleContext& cycle, const PlaceSearch& places)
    : now_(cycle.now),
      tree_(cycle.tree),
      state_(cycle.state),
      options_(cycle.options),
      reservations_(cycle.reservations),
      claims_(cycle.claims),
      decisions_(cycle.decisions),
      places_(places) {}

// A job that this cycle starts has got what there is. One that a new leader found running, whose
// start is not known, counts as started now as well, and may lack a worker that nothing else would
// bring back.
bool Growth::StartsInThisCycle(const QueuedJob& job) const {
  return job.started >= now_ &&
         std::any_of(decisions_.begin(), decisions_.end(), [&](const auto& decision) {
           return decision.action == ScheduleAction::kStart && decision.job == job.uid;
         });
}

std::vector<JobEntry*> Growth::JobsThatMayGrow(bool beyond_request) {
  std::vector<JobEntry*> growing;
  for (const QueueEntry& queue : state_.queues) {
    for (JobEntry* entry : queue.running) {
      const QueuedJob& job = entry->job;
      if (job.leaving != 0 || StartsInThisCycle(job)) continue;
      const bool shrunk = job.workers() < job.request.max;
      const bool wants_more = !job.larger_sizes.empty() && job.larger_sizes.back() > job.workers();
      if (beyond_request ? shrunk || !wants_more : !shrunk) continue;
      entry->rank = state_.RankOf(*entry, now_);
      growing.push_back(entry);
    }
  }
  std::sort(growing.begin(), growing.end(), WaitsBefore());
  if (growing.size() > kMostGrowing) growing.resize(kMostGrowing);
  return growing;
}

void Growth::Run() {
  for (JobEntry* entry : JobsThatMayGrow(/*beyond_request=*/false)) {
    TryToGrow(*entry, entry->job.workers() + 1, entry->job.request.max, ScheduleReason::kRoomAgain);
  }
  for (JobEntry* entry : JobsThatMayGrow(/*beyond_request=*/true)) GrowBeyondRequest(*entry);
}

void Growth::GrowBeyondRequest(JobEntry& entry) {
  const std::vector<int>& sizes = entry.job.larger_sizes;
  const int workers = entry.job.workers();
  for (auto size = sizes.rbegin(); size != sizes.rend() && *size > workers; ++size) {
    if (TryToGrow(entry, *size, *size, ScheduleReason::kFreeCapacity)) return;
  }
}

// The workers that it has stay where they are. Nothing if its queue has no room, or if one of them
// is on a node that the tree does not have.
std::optional<PartialGang> Growth::LargerGang(const JobEntry& entry, int least, int most) const {
  const int workers = entry.job.workers();
  PartialGang gang;
  gang.request = entry.job.request;
  Shortage unused;
  const int64_t more = RoomInQueue(state_, entry, most - workers, unused);
  if (workers + more < least) return std::nullopt;
  gang.request.min = least;
  gang.request.max = workers + static_cast<int>(more);
  for (int i = 0; i < workers; ++i) {
    if (entry.NodeOf(tree_, i) < 0) return std::nullopt;
    gang.placed[i] = entry.job.nodes[i];
  }
  for (int i = workers; i < gang.request.max; ++i) gang.missing.push_back(i);
  return gang;
}

bool Growth::TryToGrow(JobEntry& entry, int least, int most, ScheduleReason reason) {
  const std::optional<PartialGang> gang = LargerGang(entry, least, most);
  if (!gang) return false;
  const int workers = entry.job.workers();
  const std::shared_ptr<const GangNodes> usable = places_.NodesFor(entry);
  GatedTree gated(tree_, usable.get(), gang->request.per_worker);
  auto answer = CompleteGang(tree_, *gang, options_.links);
  gated.Open();
  auto* completion = std::get_if<Completion>(&answer);
  if (completion == nullptr || workers + static_cast<int>(completion->nodes.size()) < least) {
    return false;
  }
  std::vector<std::string> nodes = entry.job.nodes;
  for (const auto& [worker, node] : completion->nodes) nodes.push_back(node);
  const std::vector<int> added =
      places_.NodesOf(std::vector<std::string>(nodes.begin() + workers, nodes.end()));
  if (claims_.WhoIsDelayed(entry, added) != nullptr) return false;
  if (reservations_.WhoIsDelayed(entry, added) != nullptr) return false;
  for (int node : added) tree_.Charge(node, gang->request.per_worker);
  reservations_.Started(entry, added);
  claims_.Started(entry, added);
  state_.Move(now_, entry, nodes);
  Decision decision;
  decision.action = ScheduleAction::kGrow;
  decision.reason = reason;
  decision.job = entry.job.uid;
  decision.workers = static_cast<int>(nodes.size());
  decision.numbers.queue = state_.tree->queue_name(entry.queue);
  decision.placement = std::move(completion->gang);
  decision.placement.nodes = std::move(nodes);
  decisions_.push_back(std::move(decision));
  return true;
}

}  // namespace muster::control
