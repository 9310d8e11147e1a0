#include "operator/queue/cycle.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "operator/queue/book/quota_tree.h"
#include "operator/queue/claim_renewal.h"
#include "operator/queue/growth.h"
#include "operator/queue/room/room_plan.h"

namespace muster::control {
namespace {

// Returns true for reasons that pass when other jobs end.
bool Passes(ScheduleReason reason) {
  switch (reason) {
    case ScheduleReason::kQuotaExhausted:
    case ScheduleReason::kNoNodeBigEnough:
    case ScheduleReason::kInsufficient:
    case ScheduleReason::kTopology:
    case ScheduleReason::kSpotLimit:
    case ScheduleReason::kHeldByReservation:
    case ScheduleReason::kWaitingForVictims:
    case ScheduleReason::kConstraints:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<Decision> Cycle::Run() {
  for (const JobEntry* stray : state_.jobs_without_queue) {
    if (stray->job.running()) continue;
    Decision decision;
    decision.job = stray->job.uid;
    decision.reason = ScheduleReason::kNoSuchQueue;
    decision.numbers.queue = QueueBook::State::QueueOf(stray->job);
    decisions_.push_back(std::move(decision));
  }
  RenewClaims(context_, places_);
  for (int queue = 0; queue < state_.tree->queues(); ++queue) {
    Turn turn;
    turn.queue = queue;
    turn.next = state_.queues[queue].waiting.begin();
    Offer(std::move(turn));
  }
  while (!turns_.empty()) {
    Turn turn = turns_.top();
    turns_.pop();
    Take(std::move(turn));
  }
  Growth(context_, places_).Run();
  return std::move(decisions_);
}

// Queues the turn by its next job and its share.
void Cycle::Offer(Turn turn) {
  if (turn.next == state_.queues[turn.queue].waiting.end()) return;
  if (turn.looked_at > options_.backfill_depth) return;
  const JobEntry& next = **turn.next;
  turn.key.claims = turn.head == nullptr && next.claimed_since.has_value();
  const std::vector<int64_t>& claimed = claims_.Of(turn.queue);
  QuotaNeed need = next.Need(next.job.request.min);
  // Its own claim is not counted twice.
  const bool has_claim = claims_.Find(next) != nullptr;
  for (auto& [resource, amount] : need) {
    if (!claimed.empty()) amount = (has_claim ? 0 : amount) + claimed[resource];
  }
  turn.key.borrows = !state_.use->WithinQuota(turn.queue, need);
  turn.key.share = state_.ShareOf(now_, turn.queue, claimed);
  turn.key.queue = state_.tree->queue_name(turn.queue);
  turns_.push(std::move(turn));
}

void Cycle::Take(Turn turn) {
  JobEntry& entry = **turn.next;
  ++turn.next;
  claimed_.reset();
  if (const Claim* claim = claims_.Find(entry)) claimed_ = *claim;
  claims_.Withdraw(entry);
  // Claimants of the same queue do not hold up a job that comes before them.
  std::vector<Claim> after;
  if (turn.head == nullptr && !claimed_) after = claims_.WithdrawAfter(entry);
  Decision decision = Try(entry, turn);
  if (decision.action == ScheduleAction::kWait) {
    const bool first = turn.head == nullptr;
    const bool waits_for_nodes = entry.job.fits_nowhere && WaitsForNodes(entry, decision);
    if (first && !waits_for_nodes && decision.reason == ScheduleReason::kNamespaceLimit) {
      room_.AskNamespace(entry, claimed_, decision);
    }
    if (waits_for_nodes || !Passes(decision.reason)) {
      entry.claimed_since.reset();
      entry.reserved_since.reset();
    } else if (first) {
      HandleHead(entry, decision);
      if (room_.GoesOn(entry, decision)) {
        turn.claims = true;
      } else {
        turn.head = &entry;
      }
    } else if (claimed_ && claims_.Find(entry) == nullptr) {
      claims_.Add(entry, claimed_->workers);
    }
    if (turn.head != nullptr) ++turn.looked_at;
  }
  for (const Claim& claim : after) claims_.Add(*claim.job, claim.workers);
  decisions_.push_back(std::move(decision));
  Offer(std::move(turn));
}

bool Cycle::WaitsForNodes(const JobEntry& entry, Decision& decision) const {
  switch (decision.reason) {
    case ScheduleReason::kNoNodeBigEnough:
    case ScheduleReason::kInsufficient:
    case ScheduleReason::kTopology:
    case ScheduleReason::kSpotLimit:
    case ScheduleReason::kConstraints:
      break;
    case ScheduleReason::kQuotaExhausted:
      // New nodes alone would not help a job that its queue has no nominal quota for.
      if (NominalWorkers(state_, entry, &claims_) < entry.job.request.min) return true;
      break;
    case ScheduleReason::kNamespaceLimit:
      return true;
    default:
      return false;
  }
  decision.reason = ScheduleReason::kFitsNowhere;
  return true;
}

const JobEntry* Cycle::WhoIsDelayed(const JobEntry& entry, const Placement& placement) {
  const std::vector<int> nodes = places_.NodesOf(placement.nodes);
  const JobEntry* claimant = claims_.WhoIsDelayed(entry, nodes);
  held_by_claim_ = claimant != nullptr;
  // A job that others made room for does not wait for promises given since.
  if (held_by_claim_ || claimed_) return claimant;
  return reservations_.WhoIsDelayed(entry, nodes);
}

Decision Cycle::Try(JobEntry& entry, const Turn& turn) {
  const bool behind = turn.head != nullptr;
  Decision decision;
  decision.job = entry.job.uid;
  decision.numbers.queue = state_.tree->queue_name(entry.queue);
  if (!places_.MayEverStart(entry, decision)) return decision;
  int most = places_.RoomInQuota(entry, decision);
  Placement placement;
  if (most == 0 || !places_.FindPlace(entry, most, placement, decision)) return decision;
  const int now = static_cast<int>(placement.nodes.size());
  // Its queue has a right to more workers than fit now: the job waits for those that hold them.
  const bool has_claim = claimed_ && now >= claimed_->workers;
  const bool has_more = !has_claim && now < NominalWorkers(state_, entry, &claims_);
  if (!behind && has_more && room_.MakeRoom(entry, now + 1, claimed_, decision)) return decision;
  const JobEntry* delayed = WhoIsDelayed(entry, placement);
  if (delayed != nullptr && !claims_.all().empty() &&
      places_.FindPlaceBesideClaims(entry, most, placement)) {
    delayed = WhoIsDelayed(entry, placement);
  }
  if (delayed != nullptr && static_cast<int>(placement.nodes.size()) > entry.job.request.min) {
    // The smallest size may fit without delaying another job.
    if (!places_.FindPlace(entry, entry.job.request.min, placement, decision)) return decision;
    delayed = WhoIsDelayed(entry, placement);
  }
  if (delayed != nullptr) {
    decision.reason = ScheduleReason::kHeldByReservation;
    decision.numbers.blocked_by = delayed->job.uid;
    return decision;
  }
  Start(entry, std::move(placement), turn.behind(), decision);
  return decision;
}

void Cycle::Start(JobEntry& entry, Placement placement, bool behind, Decision& decision) {
  const int workers = static_cast<int>(placement.nodes.size());
  const bool borrows = !state_.use->WithinQuota(entry.queue, entry.Need(workers));
  decision.action = ScheduleAction::kStart;
  decision.reason = behind    ? ScheduleReason::kBackfilled
                    : borrows ? ScheduleReason::kBorrowing
                              : ScheduleReason::kWithinQuota;
  decision.workers = workers;
  const std::vector<int> nodes = places_.NodesOf(placement.nodes);
  for (int node : nodes) tree_.Charge(node, entry.job.request.per_worker);
  entry.job.started = now_;
  state_.Move(now_, entry, placement.nodes);
  entry.job.checkpointed = now_;
  entry.job.ends.reset();
  if (entry.job.runtime) entry.job.ends = now_ + *entry.job.runtime;
  entry.job.leaving = 0;
  entry.reserved_since.reset();
  entry.claimed_since.reset();
  reservations_.Started(entry, nodes);
  claims_.Started(entry, nodes);
  decision.placement = std::move(placement);
}

void Cycle::HandleHead(JobEntry& entry, Decision& decision) {
  if (decision.reason == ScheduleReason::kHeldByReservation) {
    if (claimed_) claims_.Add(entry, claimed_->workers);
    // The places are a claimant's; other jobs may make room for this one as well.
    const bool waits = held_by_claim_ && !claimed_ &&
                       room_.MakeRoom(entry, entry.job.request.min, claimed_, decision);
    if (waits) decision.numbers.expected_start = claims_.ReadyAt(entry);
    return;
  }
  const int min = entry.job.request.min;
  const bool by_nodes = decision.reason != ScheduleReason::kQuotaExhausted;
  const bool told = decision.reason == ScheduleReason::kWaitingForVictims;
  const bool waits = told || room_.MakeRoom(entry, min, claimed_, decision);
  if (waits && claims_.Find(entry) != nullptr) {
    decision.numbers.expected_start = claims_.ReadyAt(entry);
    return;
  }
  if (!waits) room_.ExplainProtection(entry, decision);
  const std::optional<absl::Time> start =
      reservations_.Reserve(entry, std::max(decision.workers, min), by_nodes || waits);
  if (start) decision.numbers.expected_start = *start;
  if (!waits && by_nodes && options_.defragment) room_.Defragment(entry, decision);
}

}  // namespace muster::control
