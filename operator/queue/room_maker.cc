#include "operator/queue/room_maker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "operator/queue/room/defragmentation.h"
#include "operator/queue/room/room_plan.h"
#include "operator/queue/room/victim_trial.h"

namespace muster::control {
namespace {

// The longest wait that counts as a newcomer's gain by defragmentation.
constexpr absl::Duration kLongestGain = absl::Hours(24);
// When a cycle's searches for victims have looked at this many jobs and nodes, no queue gets a
// search for its second job.
constexpr int64_t kMostSearched = 2'000'000;

}  // namespace

RoomMaker::RoomMaker(CycleContext& cycle)
    : now_(cycle.now),
      tree_(cycle.tree),
      state_(cycle.state),
      options_(cycle.options),
      claims_(cycle.claims),
      decisions_(cycle.decisions) {}

bool RoomMaker::GoesOn(const JobEntry& entry, const Decision& decision) const {
  return decision.reason == ScheduleReason::kWaitingForVictims && claims_.Find(entry) != nullptr &&
         searched_ < kMostSearched;
}

void RoomMaker::AskNamespace(JobEntry& entry, const std::optional<Claim>& claimed,
                             Decision& decision) {
  // The first job of each namespace asks, as the head of a queue does.
  const bool first = full_.insert({entry.queue, entry.job.ns}).second;
  if (first && NamespaceMayMakeRoom(now_, state_, entry)) {
    MakeRoom(entry, entry.job.request.min, claimed, decision);
  }
}

void RoomMaker::ExplainProtection(const JobEntry& entry, Decision& decision) const {
  auto explain = [&](absl::string_view sentence, absl::Time until) {
    absl::StrAppend(&decision.detail, decision.detail.empty() ? "" : "; ", sentence,
                    absl::FormatDuration(absl::Ceil(until - now_, absl::Seconds(1))));
  };
  if (const auto until = FirstUnprotected(now_, state_, entry)) {
    explain(
        "jobs that it could replace have not run for their queue's minRuntime; the first will have "
        "in ",
        *until);
  }
  if (const auto from = ShrinkForItAt(now_, state_, entry)) {
    explain("elastic jobs of its queue may shrink for it in ", *from);
  }
}

bool RoomMaker::ClaimAgain(JobEntry& entry, int least, const std::optional<Claim>& claimed,
                           Decision& decision) {
  if (!claimed || claimed->workers < least || !claims_.Add(entry, claimed->workers)) return false;
  decision.reason = ScheduleReason::kWaitingForVictims;
  decision.workers = claims_.Find(entry)->workers;
  return true;
}

bool RoomMaker::MakeRoom(JobEntry& entry, int least, const std::optional<Claim>& claimed,
                         Decision& decision) {
  if (ClaimAgain(entry, least, claimed, decision)) return true;
  VictimOptions victims = VictimOptionsOf(options_);
  victims.claims = &claims_;
  victims.shrunk = &shrunk_;
  searched_ += static_cast<int64_t>(state_.jobs.size()) - state_.waiting +
               static_cast<int64_t>(tree_.level(tree_.node_level()).size());
  const std::optional<RoomPlan> room = PlanRoom(now_, tree_, state_, entry, least, victims);
  const bool starts_else = least > entry.job.request.min;
  // A job that could start waits only for workers that go for its sake. One that waits only for
  // jobs that end by themselves gets a reservation instead.
  const bool somebody_goes = room && (!room->plan.victims.empty() || claims_.HasLeavers());
  const bool waits = somebody_goes && (!starts_else || !room->plan.victims.empty() ||
                                       entry.claimed_since.has_value());
  if (!waits) {
    entry.claimed_since.reset();
    return false;
  }
  if (!room->plan.victims.empty() || !entry.claimed_since) entry.claimed_since = now_;
  state_.may_have_claims = true;
  for (const Victim& victim : room->plan.victims) Evict(victim, entry, room->plan);
  claims_.AddByRules(entry, room->workers);
  decision.reason = ScheduleReason::kWaitingForVictims;
  decision.workers = room->workers;
  decision.numbers.cost = room->plan.cost;
  decision.numbers.cost_bound = room->plan.cost_bound;
  return true;
}

void RoomMaker::Evict(const Victim& victim, const JobEntry& newcomer, const VictimPlan& plan) {
  Decision decision;
  decision.action = victim.keep == 0 ? ScheduleAction::kStop : ScheduleAction::kShrink;
  decision.reason = victim.reason;
  decision.job = victim.entry->job.uid;
  decision.workers = victim.keep;
  decision.for_job = newcomer.job.uid;
  decision.numbers.queue = state_.tree->queue_name(victim.entry->queue);
  decision.numbers.cost = plan.cost;
  decision.numbers.cost_bound = plan.cost_bound;
  QueuedJob& job = victim.entry->job;
  claims_.Told(*victim.entry, victim.keep, job.workers() - job.leaving);
  if (job.leaving == 0) job.leaves_for = newcomer.job.uid;
  job.leaving = job.workers() - victim.keep;
  if (victim.keep > 0) shrunk_.insert(victim.entry);
  decisions_.push_back(std::move(decision));
}

void RoomMaker::Defragment(JobEntry& entry, Decision& decision) {
  // Jobs that move need places elsewhere, free of claims.
  if (!claims_.all().empty()) return;
  const std::optional<DefragmentationPlan> plan =
      PlanDefragmentation(now_, tree_, state_, entry, decision.numbers.expected_start, kLongestGain,
                          VictimOptionsOf(options_));
  if (!plan) return;
  entry.claimed_since = now_;
  state_.may_have_claims = true;
  for (JobEntry* moved : plan->moved) {
    Decision move;
    move.action = ScheduleAction::kStop;
    move.reason = ScheduleReason::kDefragmented;
    move.job = moved->job.uid;
    move.for_job = entry.job.uid;
    move.numbers.queue = state_.tree->queue_name(moved->queue);
    move.numbers.cost = plan->cost;
    move.numbers.gain = plan->gain;
    moved->job.leaving = moved->job.workers();
    moved->job.leaves_for = entry.job.uid;
    claims_.Told(*moved, 0, moved->job.workers());
    decisions_.push_back(std::move(move));
  }
  claims_.AddByRules(entry, entry.job.request.min);
  decision.reason = ScheduleReason::kWaitingForVictims;
}

}  // namespace muster::control
