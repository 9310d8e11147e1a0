#include "operator/core/saves/save_interval.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "operator/core/ending/active_time.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/order_save.h"
#include "operator/core/state/spec_values.h"
#include "proto/muster/v1alpha1/checkpoint_defaults.h"

namespace muster::control {
namespace {

constexpr double kFailuresPerNodeDay = 6.5 / 1000;
constexpr absl::Duration kLeast = absl::Minutes(1);
// A save begins after the step in which it was ordered.
constexpr absl::Duration kTurnUnused = absl::Minutes(2);

SaveCosts CostsOf(const Draft& draft) {
  SaveCosts costs;
  if (const auto& written = draft.view.checkpoint.written) {
    costs.stall = absl::Seconds(written->stall_seconds());
    costs.write = absl::Seconds(written->seconds());
  }
  const v1alpha1::TrainingJobStatus& status = draft.plan.status;
  costs.observed = ActiveFor(status, draft.view.wall);
  costs.failures = status.failures().count() + status.failures().ignored();
  costs.workers = std::max(1, draft.WorkersWanted());
  return costs;
}

// Follows status.checkpoint, whose time another leader may have written.
void NoteNewest(Draft& draft) {
  SaveIntervalMemory& memory = draft.memory().save_interval;
  const v1alpha1::CheckpointStatus& newest = draft.plan.status.checkpoint();
  if (!newest.has_step() || newest.step() == memory.newest_step) return;
  memory.newest_step = newest.step();
  const absl::Duration age = draft.view.wall - ParseWall(newest.time());
  memory.saved_at = draft.view.now - std::max(age, absl::ZeroDuration());
}

absl::Duration IntervalOf(const Draft& draft) {
  const v1alpha1::CheckpointInterval& wanted = draft.spec().checkpoint().interval();
  return SaveInterval(CostsOf(draft), ParseDurationOr(wanted.min(), kLeast),
                      ParseDurationOr(wanted.max(), v1alpha1::kAutoIntervalMost));
}

void OrderIfDue(Draft& draft) {
  const absl::Duration interval = IntervalOf(draft);
  SaveIntervalMemory& saves = draft.memory().save_interval;
  absl::Time last = std::max(saves.saved_at, saves.ordered_at);
  if (last == absl::InfinitePast()) last = draft.memory().phase_since;
  if (draft.view.now < last + interval) return draft.RequeueAt(last + interval);
  if (!draft.view.may_save) {
    draft.plan.save_turn = SaveTurn::kWanted;
    return;
  }
  if (OrderSaves(draft) == 0) return;
  saves.ordered_at = draft.view.now;
  saves.turn_until = draft.view.now + kTurnUnused;
  draft.status().mutable_checkpoint()->set_interval(
      absl::FormatDuration(absl::Trunc(interval, absl::Seconds(1))));
  draft.RequeueAt(draft.view.now + interval);
}

// A report of an earlier round is that of a writer that may be gone.
bool IsWriting(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  const std::optional<v1alpha1::CheckpointReport>& begun = draft.view.checkpoint.begun;
  return memory.phase == RoundPhase::kActive && begun &&
         begun->version().attempt() == memory.id.round;
}

bool HasTurn(Draft& draft) {
  SaveIntervalMemory& saves = draft.memory().save_interval;
  const bool writing = IsWriting(draft);
  const bool over =
      draft.memory().phase != RoundPhase::kActive || draft.view.now >= saves.turn_until;
  if (writing || over || saves.saved_at > saves.ordered_at) {
    saves.turn_until = absl::InfinitePast();
    return writing;
  }
  draft.RequeueAt(saves.turn_until);
  return true;
}

}  // namespace

absl::Duration MeanTimeBetweenFailures(const SaveCosts& costs) {
  const absl::Duration assumed =
      absl::Hours(24) / (kFailuresPerNodeDay * std::max(1, costs.workers));
  return (costs.observed + assumed) / (costs.failures + 1);
}

absl::Duration SaveInterval(const SaveCosts& costs, absl::Duration least, absl::Duration most) {
  if (costs.stall <= absl::ZeroDuration()) return std::min(least, most);
  const double seconds = std::sqrt(2.0 * absl::ToDoubleSeconds(costs.stall) *
                                   absl::ToDoubleSeconds(MeanTimeBetweenFailures(costs)));
  const absl::Duration best = std::max({absl::Seconds(seconds), 2 * costs.write, least});
  return std::min(best, most);
}

void SaveAtIntervals(Draft& draft) {
  if (!draft.spec().has_checkpoint() || !draft.spec().has_trainer()) return;
  if (draft.memory().phase == RoundPhase::kActive) {
    NoteNewest(draft);
    if (draft.spec().checkpoint().interval().mode() == "Auto" && !draft.memory().stop.since) {
      OrderIfDue(draft);
    }
  }
  if (HasTurn(draft)) draft.plan.save_turn = SaveTurn::kTaken;
}

}  // namespace muster::control
