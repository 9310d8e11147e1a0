#include "operator/queue/growth.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "operator/placement/gang_nodes.h"
#include "operator/queue/queue_room.h"

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

void Growth::Run() {
  std::vector<JobEntry*> shrunk;
  for (const QueueEntry& queue : state_.queues) {
    for (JobEntry* entry : queue.running) {
      const QueuedJob& job = entry->job;
      if (job.leaving == 0 && job.workers() < job.request.max && job.started < now_) {
        entry->rank = state_.RankOf(*entry, now_);
        shrunk.push_back(entry);
      }
    }
  }
  std::sort(shrunk.begin(), shrunk.end(), WaitsBefore());
  if (shrunk.size() > kMostGrowing) shrunk.resize(kMostGrowing);
  for (JobEntry* entry : shrunk) TryToGrow(*entry);
}

// The workers that it has stay where they are. Nothing if its queue has no room, or if one of them
// is on a node that the tree does not have.
std::optional<PartialGang> Growth::LargerGang(const JobEntry& entry) const {
  const int workers = entry.job.workers();
  PartialGang gang;
  gang.request = entry.job.request;
  Shortage unused;
  const int64_t more = RoomInQueue(state_, entry, gang.request.max - workers, unused);
  if (more <= 0) return std::nullopt;
  gang.request.min = workers + 1;
  gang.request.max = workers + static_cast<int>(more);
  for (int i = 0; i < workers; ++i) {
    if (entry.NodeOf(tree_, i) < 0) return std::nullopt;
    gang.placed[i] = entry.job.nodes[i];
  }
  for (int i = workers; i < gang.request.max; ++i) gang.missing.push_back(i);
  return gang;
}

void Growth::TryToGrow(JobEntry& entry) {
  const std::optional<PartialGang> gang = LargerGang(entry);
  if (!gang) return;
  const int workers = entry.job.workers();
  const std::shared_ptr<const GangNodes> usable = places_.NodesFor(entry);
  GatedTree gated(tree_, usable.get(), gang->request.per_worker);
  auto answer = CompleteGang(tree_, *gang, options_.links);
  gated.Open();
  auto* completion = std::get_if<Completion>(&answer);
  if (completion == nullptr) return;
  std::vector<std::string> nodes = entry.job.nodes;
  for (const auto& [worker, node] : completion->nodes) nodes.push_back(node);
  const std::vector<int> added =
      places_.NodesOf(std::vector<std::string>(nodes.begin() + workers, nodes.end()));
  if (claims_.WhoIsDelayed(entry, added) != nullptr) return;
  if (reservations_.WhoIsDelayed(entry, added) != nullptr) return;
  for (int node : added) tree_.Charge(node, gang->request.per_worker);
  reservations_.Started(entry, added);
  claims_.Started(entry, added);
  state_.Move(now_, entry, nodes);
  Decision decision;
  decision.action = ScheduleAction::kGrow;
  decision.reason = ScheduleReason::kRoomAgain;
  decision.job = entry.job.uid;
  decision.workers = static_cast<int>(nodes.size());
  decision.numbers.queue = state_.tree->queue_name(entry.queue);
  decision.placement = std::move(completion->gang);
  decision.placement.nodes = std::move(nodes);
  decisions_.push_back(std::move(decision));
}

}  // namespace muster::control
