#include "operator/scheduler/bind/worker_replacer.h"

#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "operator/core/state/spec_values.h"
#include "operator/placement/complete_gang.h"
#include "operator/queue/book/decision.h"
#include "operator/scheduler/gang/gang_placer.h"
#include "operator/scheduler/gang/gang_request.h"

namespace muster::control {
namespace {

// Forget runs so seldom that its cost per gang is negligible.
constexpr size_t kForgetFrom = 64;

}  // namespace

std::vector<std::string> WorkerReplacer::RunningWithoutNodes() const {
  std::vector<std::string> uids;
  for (const std::string& uid : world_.book.incomplete()) {
    if (world_.model.waiting().count(uid) > 0) uids.push_back(uid);
  }
  return uids;
}

void WorkerReplacer::Replace() {
  std::set<std::pair<absl::Time, std::string>> order;
  for (const std::string& uid : RunningWithoutNodes()) {
    const QueueJobState* standing = world_.book.Find(uid);
    const int first = world_.model.gangs().at(uid).unbound.begin()->first.first;
    if (first < standing->entitled) order.emplace(standing->queued.created, uid);
  }
  for (const auto& [created, uid] : order) ReplaceOf(uid, *world_.book.Find(uid));
}

void WorkerReplacer::ReplaceOf(const std::string& uid, const QueueJobState& standing) {
  const Gang& gang = world_.model.gangs().at(uid);
  if (world_.writes.MustPause(uid) || world_.writes.WaitsForVolumes(uid)) return;
  Look& look = looks_[uid];
  if (look.IsOf(world_.model, gang, standing)) {
    return world_.writes.Refuse(uid, gang, look.refusal);
  }
  // A gang that has lost all its workers starts again as a whole.
  const int open = OpenWorkers(standing, standing.entitled);
  if (gang.bound.empty() && static_cast<int>(gang.unbound.size()) < open) return;
  const Gang own = WorkersBelow(gang, standing.entitled);
  const PartialGang request = MakeGangRequest(*standing.job, standing.spec, own);
  const PlacementAnswer answer = PlaceGang(world_.model, request, MissingPods(own));
  look = LookAt(gang, standing);
  if (const auto* no = std::get_if<PlacementRefusal>(&answer)) {
    if (gang.bound.empty()) return world_.book.Demote(uid);
    look.refusal = no->sentence;
    return world_.publisher.Refuse(standing, *no);
  }
  const Completion& completion = std::get<Completion>(answer);
  world_.publisher.Bind(standing, MembersOf(own, completion.nodes), completion.gang);
}

void WorkerReplacer::ReportPendingGrowth() {
  for (const std::string& uid : RunningWithoutNodes()) {
    const QueueJobState* standing = world_.book.Find(uid);
    const Gang& gang = world_.model.gangs().at(uid);
    const int first = gang.unbound.begin()->first.first;
    if (first < standing->entitled || gang.bound.empty()) continue;
    // No node is to be added for workers beyond workers.count.
    if (first >= WorkerCount(standing->spec)) continue;
    Look& look = looks_[uid];
    if (look.IsOf(world_.model, gang, *standing)) continue;
    look = LookAt(gang, *standing);
    const PartialGang request = MakeGangRequest(*standing->job, standing->spec, gang);
    const PlacementAnswer answer = PlaceGang(world_.model, request, MissingPods(gang));
    if (const auto* no = std::get_if<PlacementRefusal>(&answer)) {
      world_.publisher.Refuse(*standing, *no);
      continue;
    }
    world_.publisher.PublishQueued(*standing, ScheduleReason::kHeldByReservation,
                                   "it grows when its queue has room for more workers",
                                   world_.verdicts.Of(uid));
  }
}

void WorkerReplacer::Forget() {
  if (looks_.size() < 2 * world_.model.gangs().size() + kForgetFrom) return;
  std::erase_if(looks_,
                [&](const auto& entry) { return world_.model.gangs().count(entry.first) == 0; });
}

}  // namespace muster::control
