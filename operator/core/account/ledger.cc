#include "operator/core/account/ledger.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "operator/core/ending/ended.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/ledger_book.h"
#include "operator/core/state/membership.h"
#include "planner/layout.h"

namespace muster::control {
namespace {

using RanksByUse = LedgerMemory::RanksByUse;

int& At(RanksByUse& ranks, TimeUse use) { return ranks[static_cast<size_t>(use)]; }

bool IsState(const v1alpha1::TrainingJobStatus& status, JobState state) {
  return status.state() == Name(state);
}

// Adds the workers that a round of `wanted` workers lacks by what they wait for. Spares are not
// among the ranks that the job wants.
void AddWaiting(const Draft& draft, int wanted, const std::vector<v1alpha1::Member>& round,
                RanksByUse& workers) {
  const std::set<int> members = MemberIndices(round);
  int lacking = EmptySeats(draft, wanted, members);
  const v1alpha1::Condition* scheduled =
      FindCondition(draft.plan.status, ConditionType::kScheduled);
  const bool queued = scheduled != nullptr && scheduled->reason() == Name(Reason::kQueued);
  for (int index = 0; index < wanted + draft.SparesWanted() && lacking > 0; ++index) {
    if (members.count(index) > 0) continue;
    const Worker* worker = draft.FindWorker(index);
    if (worker != nullptr && worker->ended) continue;
    --lacking;
    const TimeUse unbound = queued ? TimeUse::kQueued : TimeUse::kPlacing;
    ++At(workers, IsOnNode(worker) ? TimeUse::kStarting : unbound);
  }
}

// Returns the use of all workers together, if they have one.
std::optional<TimeUse> CommonUse(const Draft& draft) {
  const v1alpha1::TrainingJobStatus& status = draft.plan.status;
  if (IsState(status, JobState::kSuspended) || !IsTrue(status, ConditionType::kAdmitted)) {
    return TimeUse::kIdle;
  }
  if (IsState(status, JobState::kQueued)) return TimeUse::kQueued;
  if (draft.plan.memory.stop.since) return TimeUse::kCheckpointStall;
  if (IsState(status, JobState::kRecovering)) return TimeUse::kRecovering;
  return std::nullopt;
}

// Returns how many of the `wanted` workers spend the time from now on in each use.
RanksByUse WorkersByUse(const Draft& draft, int wanted) {
  RanksByUse workers{};
  const v1alpha1::TrainingJobStatus& status = draft.plan.status;
  if (IsFinished(status)) return workers;
  const RoundMemory& memory = draft.plan.memory;
  const int living = std::max(0, wanted - EndedWorkers(draft));
  if (const auto use = CommonUse(draft)) {
    At(workers, *use) = living;
  } else if (memory.phase == RoundPhase::kActive) {
    At(workers, TimeUse::kUnreported) = static_cast<int>(memory.members.size());
    AddWaiting(draft, wanted, memory.members, workers);
  } else if (IsState(status, JobState::kTraining)) {  // as the leader before wrote
    At(workers, TimeUse::kUnreported) = living;
  } else if (memory.phase == RoundPhase::kPreparing || memory.phase == RoundPhase::kJoining) {
    At(workers, TimeUse::kInitialising) = static_cast<int>(memory.members.size());
    AddWaiting(draft, wanted, memory.members, workers);
  } else {
    AddWaiting(draft, wanted, {}, workers);
  }
  return workers;
}

RanksByUse RanksOf(const Draft& draft, int wanted) {
  RanksByUse ranks = WorkersByUse(draft, wanted);
  for (int& count : ranks) count *= planner::RanksOf(draft.spec().workers());
  return ranks;
}

// Takes over the ledger of the leader before, and its view of how the job was left.
void Restore(Draft& draft) {
  LedgerMemory& memory = draft.memory().ledger;
  memory.restored = true;
  memory.book = draft.view.status.ledger();
  absl::Time until = ParseWall(memory.book.until());
  if (until == absl::InfinitePast()) {
    until =
        draft.view.job.created == absl::InfinitePast() ? draft.view.wall : draft.view.job.created;
    memory.book.set_since(FormatWall(until));
  }
  const absl::Duration gap = std::max(draft.view.wall - until, absl::ZeroDuration());
  memory.filed_until = draft.view.now - gap;
  // The spec may have changed while no leader ran, so the status tells how many workers the job
  // had.
  const int wanted = draft.view.status.workers().desired();
  memory.ranks = RanksOf(draft, wanted > 0 ? wanted : draft.WorkersWanted());
  // This process may have heard steps in an earlier term; only those that the ledger does not have
  // are new.
  const ProgressView& seen = draft.view.progress;
  if (!seen.latest) return;
  const int64_t fresh = seen.latest->version().step() - memory.book.newest_step();
  memory.steps_seen = seen.steps_seen - std::clamp(fresh, int64_t{0}, seen.steps_seen);
  if (fresh <= 0) memory.times = seen.times;
}

// Returns the part of the newly reported steps that had been done before.
double RedonePart(int64_t newest_before, int64_t newest, int64_t steps) {
  const int64_t redone = std::min(newest_before, newest) - (newest - steps);
  return steps > 0 ? static_cast<double>(redone) / static_cast<double>(steps) : 0;
}

void FileReportedSteps(Draft& draft) {
  LedgerMemory& memory = draft.memory().ledger;
  const ProgressView& seen = draft.view.progress;
  if (!seen.latest || seen.steps_seen == memory.steps_seen) return;
  const int64_t newest = seen.latest->version().step();
  const double redone =
      RedonePart(memory.book.newest_step(), newest, seen.steps_seen - memory.steps_seen);
  FileSteps(memory.book, seen.times - memory.times, At(memory.ranks, TimeUse::kUnreported), redone);
  memory.book.set_newest_step(std::max(memory.book.newest_step(), newest));
  memory.steps_seen = seen.steps_seen;
  memory.times = seen.times;
}

}  // namespace

void KeepLedger(Draft& draft) {
  LedgerMemory& memory = draft.memory().ledger;
  if (!memory.restored) Restore(draft);
  const double elapsed = absl::ToDoubleSeconds(draft.view.now - memory.filed_until);
  for (const TimeUse use : AllTimeUses()) {
    Charge(memory.book, use, elapsed * At(memory.ranks, use));
  }
  memory.filed_until = draft.view.now;
  const v1alpha1::LedgerStatus charged = memory.book;
  FileReportedSteps(draft);
  memory.ranks = RanksOf(draft, draft.WorkersWanted());
  // A command's time says nothing about itself.
  if (!draft.spec().has_trainer()) FileUnreported(memory.book, TimeUse::kProductive);
  if (At(memory.ranks, TimeUse::kUnreported) == 0) {
    const bool planned = IsFinished(draft.plan.status) || draft.plan.memory.stop.since;
    FileUnreported(memory.book, planned ? TimeUse::kCheckpointStall : TimeUse::kRecovering);
  }
  memory.reported = Reported(charged, memory.book);
}

void ShowLedger(Draft& draft) {
  LedgerMemory& memory = draft.memory().ledger;
  // The ledger ends with the job, whatever is written later.
  if (!memory.restored || IsFinished(draft.view.status)) return;
  memory.book.set_until(FormatWall(draft.view.wall));
  *draft.status().mutable_ledger() = memory.book;
}

}  // namespace muster::control
