#include "tests/simulation/replay/muster_replay.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/core/state/view.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

// The cloud removes the node of a machine so long after it is gone.
constexpr absl::Duration kNodeRemoved = absl::Seconds(10);

// The machines of the slots, each with room for one worker.
class Machines {
 public:
  explicit Machines(ReplicaWorld& world) : world_(world) {}

  void Come(int slot) {
    const std::string name = absl::StrCat("slot-", slot, "-", ++made_[slot]);
    world_.AddNode(name, 1);
    names_[slot] = name;
  }
  void Announce(int slot, absl::Duration left) { world_.SetNotice(names_.at(slot), left); }
  // Returns the name of its node, which is still there.
  std::string Take(int slot) {
    world_.fleet->LoseNode(names_.at(slot));
    return names_.at(slot);
  }
  void RemoveNode(const std::string& name) {
    world_.memory->Delete(kube::kNodes, {"", name}, {}).IgnoreError();
    for (const Json& pod : world_.Pods()) {
      if (kube::StringAt(pod, {"spec", "nodeName"}) != name) continue;
      kube::DeleteOptions at_once;
      at_once.grace_period_seconds = 0;
      world_.memory->Delete(kube::kPods, kube::KeyOf(pod), at_once).IgnoreError();
    }
  }

 private:
  ReplicaWorld& world_;
  std::map<int, std::string> names_;
  std::map<int, int> made_;
};

Json SpecOf(int workers) {
  return {{"workers", {{"count", workers}, {"min", 1}}},
          {"failurePolicy", {{"onRankFailure", "Shrink"}, {"maxFailures", 100}}},
          {"trainer", {{"train", {{"steps", 1'000'000'000}, {"globalBatch", 4 * workers}}}}}};
}

}  // namespace

MusterReplay ReplayMuster(const ReplayTimes& times, const SpotShape& shape,
                          const std::vector<SpotEvent>& events, absl::Duration length,
                          absl::Duration notice) {
  ReplicaWorld world({.seed = 1, .election = false});
  world.fleet->SetSaveTime(times.save);
  world.fleet->SetSaveEvery(times.save_every);
  world.fleet->SetWork(times.work_per_step);
  world.fleet->SetStartUp(times.start, times.start);
  world.fleet->SetJoinTime(times.join, times.load);
  world.fleet->SetNoticeOfLoss(times.notice_loss);
  Machines machines(world);
  for (int slot = 0; slot < shape.slots; ++slot) machines.Come(slot);
  const TrainingJob job = world.CreateJob("gpt", SpecOf(shape.slots));
  std::multimap<absl::Duration, std::function<void()>> agenda;
  std::map<int, absl::Duration> came;
  for (const SpotEvent& event : events) {
    const int slot = event.slot;
    if (!event.taken) {
      came[slot] = event.at;
      agenda.emplace(event.at, [&machines, slot] { machines.Come(slot); });
      continue;
    }
    if (notice > absl::ZeroDuration()) {
      const absl::Duration left = std::min(notice, event.at - came[slot]);
      agenda.emplace(event.at - left, [&machines, slot, left] { machines.Announce(slot, left); });
    }
    agenda.emplace(event.at, [&, slot, at = event.at] {
      agenda.emplace(at + kNodeRemoved,
                     [&machines, node = machines.Take(slot)] { machines.RemoveNode(node); });
    });
  }
  const absl::Time start = world.clock.Monotonic();
  while (world.clock.Monotonic() < start + length) {
    world.Tick();
    while (!agenda.empty() && start + agenda.begin()->first <= world.clock.Monotonic()) {
      const std::function<void()> what = std::move(agenda.begin()->second);
      agenda.erase(agenda.begin());
      what();
    }
  }
  return {world.promises.committed(job.uid), world.Job("gpt").status.round()};
}

}  // namespace muster::control
