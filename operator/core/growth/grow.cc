#include "operator/core/growth/grow.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "operator/core/growth/growth_policy.h"
#include "operator/core/leave/spot.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/growth_sizes.h"
#include "operator/core/state/membership.h"
#include "operator/core/state/progress.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

// Returns how long the job is not to grow after so many growths in a row that failed.
absl::Duration SnoozeAfter(const Draft& draft, int failures) {
  const absl::Duration first = GrowthSnooze(draft.spec());
  absl::Duration snooze = first;
  for (int i = 0; i < failures && snooze < draft.options.growth_snooze_limit; ++i) {
    snooze = std::max(first, std::min(snooze * 2, draft.options.growth_snooze_limit));
  }
  return snooze;
}

void SnoozeFor(Draft& draft, absl::Duration snooze) {
  GrowthMemory& memory = draft.memory().growth;
  memory.restored = true;
  memory.snoozed_until = draft.view.now + snooze;
  draft.status().mutable_elastic()->set_snoozed_until(FormatWall(draft.view.wall + snooze));
}

void GiveUp(Draft& draft, int keep, bool failed, std::string sentence) {
  v1alpha1::ElasticStatus& elastic = *draft.status().mutable_elastic();
  if (failed) elastic.set_failures(elastic.failures() + 1);
  GiveUpWorkers(draft, keep, SnoozeAfter(draft, elastic.failures()), std::move(sentence));
}

bool IsLostOrLeaves(const Draft& draft, const Worker& worker, bool member) {
  const bool given_up = NeedsReplacement(draft.plan.memory, worker.index);
  // Before it trains, a pod that is gone may be an earlier one of its name's index.
  const bool lost = member && (IsLost(worker.presence) || given_up);
  return lost || IsLeaving(draft.plan.memory, worker);
}

// Waits for extra workers until a deadline. Then gives up `first_awaited`, the lowest index that is
// not there, and every worker above it.
void AwaitExtras(Draft& draft, int first_awaited, bool bound) {
  GrowthMemory& memory = draft.memory().growth;
  if (!memory.awaited_since) memory.awaited_since = draft.view.now;
  const absl::Duration wait =
      bound ? draft.options.growth_deadline : draft.options.growth_bind_deadline;
  const absl::Time until = *memory.awaited_since + wait;
  if (draft.view.now < until) return draft.RequeueAt(until);
  GiveUp(draft, LargestUpTo(LargerSizes(draft.spec()), first_awaited), /*failed=*/true,
         absl::StrCat("worker ", first_awaited, ", beyond workers.count, ",
                      bound ? "is not ready" : "has no node", " after ", absl::FormatDuration(wait),
                      ": it is given up"));
}

void WatchExtras(Draft& draft) {
  const int granted = GrantedSize(draft.spec(), draft.status());
  if (granted == 0) return draft.memory().growth.awaited_since.reset();
  const std::set<int> members = MemberIndices(draft.memory().members);
  int first_awaited = granted;
  bool bound = true;
  for (int index = WorkerCount(draft.spec()); index < granted; ++index) {
    const Worker* worker = draft.FindWorker(index);
    const bool member = members.count(index) > 0;
    if (worker != nullptr && IsLostOrLeaves(draft, *worker, member)) {
      return GiveUp(
          draft, LargestUpTo(LargerSizes(draft.spec()), index), /*failed=*/!member,
          absl::StrCat("worker ", index, ", beyond workers.count, ",
                       IsLeaving(draft.memory(), *worker) ? "leaves its node" : "was lost",
                       ": it is given up, not replaced"));
    }
    if (member || (worker != nullptr && worker->presence == Presence::kPresent)) continue;
    first_awaited = std::min(first_awaited, index);
    bound = bound && IsOnNode(worker);
  }
  if (first_awaited < granted) return AwaitExtras(draft, first_awaited, bound);
  draft.memory().growth.awaited_since.reset();
  const bool train = static_cast<int>(members.size()) >= granted;
  if (train && draft.memory().phase == RoundPhase::kActive) {
    draft.status().mutable_elastic()->clear_failures();
  }
}

// Returns the time that a resize takes from training. A command's processes start anew in it, while
// those of the trainer live on.
absl::Duration PauseOf(const Draft& draft) {
  const v1alpha1::ResizeStatus& last = draft.plan.status.resize();
  const absl::Duration pause =
      last.has_pause_seconds() ? absl::Seconds(last.pause_seconds()) : draft.options.resize_pause;
  return draft.spec().has_trainer() ? pause : pause + draft.options.growth_start_up;
}

GrowthView ViewOf(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  const v1alpha1::TrainingJobStatus& status = draft.plan.status;
  const int members = static_cast<int>(memory.members.size());
  const bool active = memory.phase == RoundPhase::kActive;
  GrowthView view;
  view.spec = &draft.spec();
  view.size = active ? members : draft.WorkersWanted();
  view.granted = GrantedSize(draft.spec(), status);
  view.training = active && members == draft.WorkersWanted();
  view.kept = status.elastic().kept();
  view.taken_by_queue = status.preemption().workers() > 0;
  view.can_go_on = draft.spec().has_trainer() || NewestCheckpoint(draft) >= 0;
  view.left = TimeLeft(draft).value_or(absl::ZeroDuration());
  view.pause = PauseOf(draft);
  view.start_up = draft.options.growth_start_up;
  view.snoozed_until = memory.growth.snoozed_until;
  view.snoozed_until_wall = ParseWall(status.elastic().snoozed_until());
  view.least_before = draft.view.status.elastic().least();
  view.wanted_before = draft.view.status.elastic().wanted();
  return view;
}

void StateWish(Draft& draft) {
  const GrowthWish wish = WishToGrow(draft.view.now, ViewOf(draft));
  v1alpha1::ElasticStatus& elastic = *draft.status().mutable_elastic();
  elastic.clear_least();
  elastic.clear_wanted();
  if (wish.wanted > 0) {
    elastic.set_least(wish.least);
    elastic.set_wanted(wish.wanted);
  }
  elastic.set_reason(std::string(Name(wish.reason)));
  elastic.set_message(wish.sentence);
  if (wish.recheck != absl::InfiniteFuture()) draft.RequeueAt(wish.recheck);
}

}  // namespace

void SetGranted(Draft& draft, int workers) {
  if (workers > WorkerCount(draft.spec())) {
    draft.status().mutable_elastic()->set_workers(workers);
  } else if (draft.status().elastic().has_workers()) {
    draft.status().mutable_elastic()->clear_workers();
  }
}

void FollowSpec(Draft& draft) {
  if (!draft.status().elastic().has_workers()) return;
  const int allowed = GrantedSize(draft.spec(), draft.status());
  if (allowed != draft.status().elastic().workers()) SetGranted(draft, allowed);
}

void RestoreSnooze(Draft& draft) {
  GrowthMemory& memory = draft.memory().growth;
  if (memory.restored) return;
  memory.restored = true;
  // A wall clock that was set back must not make the snooze any longer.
  const absl::Duration left =
      std::clamp(ParseWall(draft.view.status.elastic().snoozed_until()) - draft.view.wall,
                 absl::ZeroDuration(), draft.options.growth_snooze_limit);
  memory.snoozed_until = draft.view.now + left;
}

void TakeGrowth(Draft& draft, const QueueOrder& order) {
  if (!MayHaveMore(draft.spec())) return;
  const int had = GrantedSize(draft.spec(), draft.status());
  SetGranted(draft, order.workers);
  const int has = GrantedSize(draft.spec(), draft.status());
  if (has == had) return;
  if (has > had) {
    draft.memory().growth.awaited_since = draft.view.now;
    draft.EmitNormal(Reason::kFreeCapacity, absl::StrCat("the job ", order.sentence));
    return;
  }
  SnoozeGrowth(draft);
  if (order.workers >= WorkerCount(draft.spec())) {
    draft.EmitNormal(Reason::kYielded, absl::StrCat("the job ", order.sentence));
  }
}

void SnoozeGrowth(Draft& draft) {
  if (!MayHaveMore(draft.spec())) return;
  SnoozeFor(draft, SnoozeAfter(draft, draft.status().elastic().failures()));
}

void GiveUpWorkers(Draft& draft, int keep, absl::Duration snooze, std::string sentence) {
  SetGranted(draft, keep);
  draft.memory().growth.awaited_since.reset();
  SnoozeFor(draft, snooze);
  draft.status().mutable_workers()->set_desired(draft.WorkersWanted());
  draft.EmitWarning(Reason::kGrowthEnded, std::move(sentence));
}

void GrowIntoFreeCapacity(Draft& draft) {
  if (SpareCount(draft.spec()) > 0) return;
  if (!GrowsByItself(draft.spec())) {
    draft.memory().growth = {};
    const int kept = draft.status().elastic().kept();
    draft.status().clear_elastic();
    if (kept > 0) draft.status().mutable_elastic()->set_kept(kept);
    return;
  }
  RestoreSnooze(draft);
  if (draft.memory().stop.since) return;
  FollowSpec(draft);
  WatchExtras(draft);
  StateWish(draft);
  draft.status().mutable_workers()->set_desired(draft.WorkersWanted());
}

}  // namespace muster::control
