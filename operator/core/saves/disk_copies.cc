#include "operator/core/saves/disk_copies.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/core/state/index_ranges.h"
#include "operator/core/state/plan.h"
#include "operator/core/state/progress.h"
#include "operator/core/state/spec_values.h"
#include "proto/muster/v1alpha1/memory_copies.h"

namespace muster::control {
namespace {

constexpr absl::Duration kEvery = absl::Minutes(1);
// An order needs milliseconds; an agent that hangs for longer keeps the copy after it.
constexpr double kSecondsAhead = 2;
constexpr double kMostStepsAhead = 1e9;
// An agent looks at a local disk within this time, or does without.
constexpr absl::Duration kAgentsSayWithin = absl::Seconds(10);
// Copies of the first orders are there after so many intervals, unless ranks copy more rarely.
constexpr int kIntervalsUntilMissed = 3;

// Returns the members whose agents are attached, and have not said that they have a copy of them on
// disk.
std::set<int> WithoutCopies(const Draft& draft) {
  std::set<int> without;
  for (const v1alpha1::Member& member : draft.plan.memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || worker->agent == nullptr || !worker->agent->attached) continue;
    const std::vector<int>& kept = worker->agent->replicas_of;
    if (std::count(kept.begin(), kept.end(), worker->index) == 0) without.insert(worker->index);
  }
  return without;
}

// The agents log each copy that they skip; this is for the job's owner.
void WarnOfMissing(Draft& draft) {
  const std::set<int> without = WithoutCopies(draft);
  if (without.empty()) return;
  draft.EmitWarning(
      Reason::kCheckpointFailed,
      absl::StrCat(NameWorkers(without), without.size() == 1 ? " has" : " have",
                   " no copy on disk after ", kIntervalsUntilMissed,
                   " intervals of checkpoint.memory.disk: either none was made in memory, or the "
                   "agent's log says why it was skipped; training goes on"));
}

}  // namespace

int64_t DiskStepAfter(int64_t step, double steps_per_second) {
  const double ahead = steps_per_second * kSecondsAhead;
  // Written so that a speed that is no number counts as none.
  return step + 1 + (ahead > 0 ? static_cast<int64_t>(std::min(ahead, kMostStepsAhead)) : 0);
}

void KeepCopiesOnDisk(Draft& draft) {
  RoundMemory& memory = draft.memory();
  const v1alpha1::TrainingJobSpec& spec = memory.spec != nullptr ? *memory.spec : draft.spec();
  const auto& latest = draft.view.progress.latest;
  if (!WantsCopiesOnDisk(spec) || memory.phase != RoundPhase::kActive || memory.stop.since) return;
  const absl::Duration every = ParseDurationOr(spec.checkpoint().memory().disk().every(), kEvery);
  absl::Time& ordered_at = memory.disk_copies.ordered_at;
  const absl::Time last = ordered_at == absl::InfinitePast() ? memory.phase_since : ordered_at;
  const absl::Time due = last + every;
  if (draft.view.now < due) return draft.RequeueAt(due);
  // The newest step may be of an earlier round, from which the job went back.
  if (!HasNewStep(draft)) return;
  const absl::Time missed = memory.phase_since + kIntervalsUntilMissed * every;
  if (last < missed && draft.view.now >= missed) WarnOfMissing(draft);
  ordered_at = draft.view.now;
  SendToMembers(draft, DiskOrder{memory.id, DiskStepAfter(latest->version().step(),
                                                          draft.view.progress.steps_per_second)});
  draft.RequeueAt(ordered_at + every);
}

absl::Time DisksKnownBy(const Draft& draft) {
  absl::Time until = absl::InfinitePast();
  if (!WantsCopiesOnDisk(draft.spec())) return until;
  for (const Worker& worker : draft.workers) {
    const AgentView* agent = worker.agent;
    if (agent == nullptr || !agent->attached || !agent->replica_endpoint.empty()) continue;
    const absl::Time silent_until = agent->attached_at + kAgentsSayWithin;
    if (draft.view.now < silent_until) until = std::max(until, silent_until);
  }
  return until;
}

}  // namespace muster::control
