#include "operator/core/growth/keep_spares.h"

#include <algorithm>

#include "operator/core/growth/grow.h"
#include "operator/core/leave/spares.h"
#include "operator/core/state/growth_sizes.h"
#include "operator/core/state/membership.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

bool AnyOnNode(const Draft& draft) {
  return std::any_of(draft.view.pods.begin(), draft.view.pods.end(), [](const PodView& pod) {
    return !pod.node.empty() && !pod.deleting && !WorkerHasEnded(pod);
  });
}

void StateWish(Draft& draft) {
  v1alpha1::ElasticStatus& elastic = *draft.status().mutable_elastic();
  elastic.clear_least();
  elastic.clear_wanted();
  const std::vector<int> sizes = LargerSizes(draft.spec());
  const int had = draft.PodsWanted();
  if (sizes.empty() || sizes.back() <= had) return;
  if (draft.status().preemption().workers() > 0) return;
  const absl::Time snoozed_until = draft.memory().growth.snoozed_until;
  if (draft.view.now < snoozed_until) return draft.RequeueAt(snoozed_until);
  elastic.set_least(*std::upper_bound(sizes.begin(), sizes.end(), had));
  elastic.set_wanted(sizes.back());
}

}  // namespace

void KeepSpares(Draft& draft) {
  if (SpareCount(draft.spec()) == 0) return;
  RestoreSnooze(draft);
  if (draft.memory().stop.since) return;
  if (AnyOnNode(draft)) {
    FollowSpec(draft);
  } else {
    SetGranted(draft, 0);
  }
  StateWish(draft);
}

void ShowSpares(Draft& draft) {
  v1alpha1::WorkersStatus& workers = *draft.status().mutable_workers();
  if (SpareCount(draft.spec()) == 0) {
    const auto waits = [&](const Worker& worker) {
      return WaitsForMultiple(draft, worker) && CanTakeSeat(draft, worker);
    };
    const auto left = std::count_if(draft.workers.begin(), draft.workers.end(), waits);
    if (left == 0) return workers.clear_spares();
    return workers.set_spares(static_cast<int>(left));
  }
  const std::set<int> members = MemberIndices(draft.plan.memory.members);
  int ready = 0;
  for (const Worker& worker : draft.workers) {
    const bool may_train = worker.presence == Presence::kPresent;
    ready += members.count(worker.index) > 0 ? may_train : CanTakeSeat(draft, worker);
  }
  const int ended =
      static_cast<int>(std::count_if(draft.workers.begin(), draft.workers.end(),
                                     [](const Worker& worker) { return worker.ended; }));
  workers.set_spares(std::clamp(ready + ended - draft.WorkersWanted(), 0, draft.SparesWanted()));
  workers.set_ready(std::min(workers.ready(), draft.WorkersWanted()));
}

}  // namespace muster::control
