#include "operator/queue/cycle.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/queue/defragmentation.h"
#include "operator/queue/gang_question.h"
#include "operator/queue/queue_room.h"
#include "operator/queue/room_plan.h"
#include "operator/queue/victim_trial.h"

namespace muster::control {
namespace {

// The most jobs that grow back in one cycle.
constexpr int kMostGrowing = 50;
// The longest wait that counts as a newcomer's gain by defragmentation.
constexpr absl::Duration kLongestGain = absl::Hours(24);
// When a cycle's searches for victims have looked at this many jobs and nodes, no queue gets a
// search for its second job.
constexpr int64_t kMostSearched = 2'000'000;
// The most orders in which claimants are given their places again.
constexpr int kMostOrdersOfClaims = 8;

// Returns true for reasons that pass when other jobs end.
bool Passes(ScheduleReason reason) {
  switch (reason) {
    case ScheduleReason::kQuotaExhausted:
    case ScheduleReason::kNoNodeBigEnough:
    case ScheduleReason::kInsufficient:
    case ScheduleReason::kTopology:
    case ScheduleReason::kHeldByReservation:
    case ScheduleReason::kWaitingForVictims:
    case ScheduleReason::kConstraints:
      return true;
    default:
      return false;
  }
}

}  // namespace

Cycle::Cycle(absl::Time now, TopologyTree& tree, QueueBook::State& state,
             const ScheduleOptions& options)
    : now_(now),
      tree_(tree),
      state_(state),
      options_(options),
      reservations_(
          now, tree, state,
          {options.stop_grace, options.reservations, options.reservations_of_nodes, options.gate}),
      claims_(now, tree, state, options.stop_grace, options.gate),
      refused_(options.refused == nullptr ? refused_here_ : *options.refused) {}

std::shared_ptr<const GangNodes> Cycle::NodesFor(const JobEntry& entry) const {
  return options_.gate == nullptr ? nullptr : options_.gate->NodesFor(entry.job.uid);
}

std::vector<Decision> Cycle::Run() {
  for (const JobEntry* stray : state_.jobs_without_queue) {
    if (stray->job.running()) continue;
    Decision decision;
    decision.job = stray->job.uid;
    decision.reason = ScheduleReason::kNoSuchQueue;
    decision.numbers.queue = QueueBook::State::QueueOf(stray->job);
    decisions_.push_back(std::move(decision));
  }
  RenewClaims();
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
  GrowShrunk();
  return std::move(decisions_);
}

void Cycle::RenewClaims() {
  if (!state_.may_have_claims) return;
  std::vector<JobEntry*> claimants;
  for (const QueueEntry& queue : state_.queues) {
    for (JobEntry* entry : queue.waiting) {
      Decision unused;
      const bool may = entry->claimed_since.has_value() && !entry->job.fits_nowhere;
      if (may && MayEverStart(*entry, unused)) claimants.push_back(entry);
    }
  }
  state_.may_have_claims = !claimants.empty();
  std::sort(claimants.begin(), claimants.end(), [](const JobEntry* a, const JobEntry* b) {
    if (a->claimed_since != b->claimed_since) return *a->claimed_since < *b->claimed_since;
    return WaitsBefore()(a, b);
  });
  // Other jobs may now lie elsewhere: a claimant that finds no place is moved to the front.
  for (int tries = 0; tries < kMostOrdersOfClaims; ++tries) {
    const auto lost = std::find_if(claimants.begin(), claimants.end(), [this](JobEntry* entry) {
      return claims_.Find(*entry) == nullptr && !claims_.Add(*entry, entry->job.request.min);
    });
    if (lost == claimants.end() || lost == claimants.begin()) break;
    std::rotate(claimants.begin(), lost, lost + 1);
    for (JobEntry* entry : claimants) claims_.Withdraw(*entry);
  }
  for (JobEntry* entry : claimants) {
    if (claims_.Find(*entry) == nullptr) claims_.Add(*entry, entry->job.request.min);
  }
  // No claimant's larger size costs another its smallest, so claims grow only now.
  for (JobEntry* entry : claimants) {
    const Claim* claim = claims_.Find(*entry);
    if (claim == nullptr || claim->workers == entry->job.request.max) continue;
    claims_.Withdraw(*entry);
    claims_.Add(*entry, std::max(NominalWorkers(state_, *entry, &claims_), entry->job.request.min));
  }
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
      AskNamespace(entry, decision);
    }
    if (waits_for_nodes || !Passes(decision.reason)) {
      entry.claimed_since.reset();
      entry.reserved_since.reset();
    } else if (first) {
      HandleHead(entry, decision);
      if (GoesOn(entry, decision)) {
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

bool Cycle::GoesOn(const JobEntry& entry, const Decision& decision) const {
  return decision.reason == ScheduleReason::kWaitingForVictims && claims_.Find(entry) != nullptr &&
         searched_ < kMostSearched;
}

bool Cycle::WaitsForNodes(const JobEntry& entry, Decision& decision) const {
  switch (decision.reason) {
    case ScheduleReason::kNoNodeBigEnough:
    case ScheduleReason::kInsufficient:
    case ScheduleReason::kTopology:
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

void Cycle::AskNamespace(JobEntry& entry, Decision& decision) {
  // The first job of each namespace asks, as the head of a queue does.
  const bool first = full_.insert({entry.queue, entry.job.ns}).second;
  if (first && NamespaceMayMakeRoom(now_, state_, entry)) {
    MakeRoom(entry, entry.job.request.min, decision);
  }
}

bool Cycle::MayEverStart(const JobEntry& entry, Decision& decision) const {
  const QuotaTree& tree = *state_.tree;
  auto never = [&decision](ScheduleReason reason) {
    decision.reason = reason;
    return false;
  };
  if (tree.is_broken(entry.queue)) return never(ScheduleReason::kNoSuchQueue);
  if (tree.is_cohort(entry.queue)) return never(ScheduleReason::kQueueIsCohort);
  if (state_.queues[entry.queue].spec.stopped) return never(ScheduleReason::kQueueStopped);
  for (const auto& [resource, amount] : entry.Need(entry.job.request.min)) {
    if (!tree.is_limited(entry.queue, resource)) continue;
    const int64_t potential = tree.Potential(entry.queue, resource);
    if (amount <= potential) continue;
    decision.numbers.resource = tree.resource_name(resource);
    decision.numbers.needed = amount;
    decision.numbers.limit = potential;
    return never(ScheduleReason::kExceedsQuota);
  }
  return true;
}

int Cycle::RoomInQuota(const JobEntry& entry, Decision& decision) const {
  const int min = entry.job.request.min;
  Shortage shortage;
  const int64_t most = RoomInQueue(state_, entry, entry.job.request.max, shortage);
  if (most >= min) return static_cast<int>(most);
  decision.reason =
      shortage.of_namespace ? ScheduleReason::kNamespaceLimit : ScheduleReason::kQuotaExhausted;
  decision.numbers.resource = state_.tree->resource_name(shortage.resource);
  decision.numbers.available = shortage.available;
  for (const auto& [resource, amount] : entry.Need(min)) {
    if (resource == shortage.resource) decision.numbers.needed = amount;
  }
  return 0;
}

bool Cycle::FindPlace(const JobEntry& entry, int most, Placement& placement, Decision& decision) {
  GangRequest request = entry.job.request;
  request.max = most;
  auto refuse = [&decision](const Unplaceable& answer) {
    decision.reason = ReasonOf(answer.reason);
    decision.detail = answer.sentence;
    decision.nearest_feasible_size = answer.nearest_feasible_size;
    return false;
  };
  const std::shared_ptr<const GangNodes> nodes = NodesFor(entry);
  if (IsSocial(nodes.get())) {
    if (const auto found = AskGate(entry, request, placement, decision)) return *found;
  }
  if (const Unplaceable* known = refused_.Find(request, nodes)) return refuse(*known);
  GatedTree gated(tree_, nodes.get(), request.per_worker);
  auto answer = Place(tree_, request, options_.links);
  if (const auto* unplaceable = std::get_if<Unplaceable>(&answer)) {
    refuse(*unplaceable);
    refused_.Add(request, nodes, *unplaceable);
    return false;
  }
  placement = std::get<Placement>(std::move(answer));
  return true;
}

std::optional<bool> Cycle::AskGate(const JobEntry& entry, const GangRequest& request,
                                   Placement& placement, Decision& decision) const {
  auto answer = options_.gate->PlacesFor(QuestionAbout(now_, state_, entry, request));
  if (!answer) return std::nullopt;
  if (answer->nodes.empty()) {
    decision.reason = ReasonOfName(answer->reason);
    decision.detail = std::move(answer->sentence);
    return false;
  }
  placement = ScorePlacement(tree_, request, answer->nodes, options_.links);
  return true;
}

std::vector<int> Cycle::NodesOf(const std::vector<std::string>& names) const {
  std::vector<int> nodes;
  for (const std::string& name : names) nodes.push_back(tree_.FindNode(name).value_or(0));
  return nodes;
}

const JobEntry* Cycle::WhoIsDelayed(const JobEntry& entry, const Placement& placement) {
  const std::vector<int> nodes = NodesOf(placement.nodes);
  const JobEntry* claimant = claims_.WhoIsDelayed(entry, nodes);
  held_by_claim_ = claimant != nullptr;
  // A job that others made room for does not wait for promises given since.
  if (held_by_claim_ || claimed_) return claimant;
  return reservations_.WhoIsDelayed(entry, nodes);
}

bool Cycle::FindPlaceBesideClaims(const JobEntry& entry, int most, Placement& placement) {
  GangRequest request = entry.job.request;
  request.max = static_cast<int>(claims_.RoomInQuota(entry, most));
  const std::shared_ptr<const GangNodes> nodes = NodesFor(entry);
  if (request.max < request.min || IsSocial(nodes.get())) return false;
  const auto held = claims_.Held();
  for (const auto& [node, amount] : held) tree_.Charge(node, amount);
  {
    GatedTree gated(tree_, nodes.get(), request.per_worker);
    auto answer = Place(tree_, request, options_.links);
    gated.Open();
    const auto* found = std::get_if<Placement>(&answer);
    request.max = found == nullptr ? 0 : request.max;
    if (found != nullptr) placement = *found;
  }
  for (const auto& [node, amount] : held) tree_.Charge(node, -amount);
  return request.max > 0;
}

Decision Cycle::Try(JobEntry& entry, const Turn& turn) {
  const bool behind = turn.head != nullptr;
  Decision decision;
  decision.job = entry.job.uid;
  decision.numbers.queue = state_.tree->queue_name(entry.queue);
  if (!MayEverStart(entry, decision)) return decision;
  int most = RoomInQuota(entry, decision);
  Placement placement;
  if (most == 0 || !FindPlace(entry, most, placement, decision)) return decision;
  const int now = static_cast<int>(placement.nodes.size());
  // Its queue has a right to more workers than fit now: the job waits for those that hold them.
  const bool has_claim = claimed_ && now >= claimed_->workers;
  const bool has_more = !has_claim && now < NominalWorkers(state_, entry, &claims_);
  if (!behind && has_more && MakeRoom(entry, now + 1, decision)) return decision;
  const JobEntry* delayed = WhoIsDelayed(entry, placement);
  if (delayed != nullptr && !claims_.all().empty() &&
      FindPlaceBesideClaims(entry, most, placement)) {
    delayed = WhoIsDelayed(entry, placement);
  }
  if (delayed != nullptr && static_cast<int>(placement.nodes.size()) > entry.job.request.min) {
    // A smaller gang may delay nobody.
    if (!FindPlace(entry, entry.job.request.min, placement, decision)) return decision;
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
  const std::vector<int> nodes = NodesOf(placement.nodes);
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
    const bool waits =
        held_by_claim_ && !claimed_ && MakeRoom(entry, entry.job.request.min, decision);
    if (waits) decision.numbers.expected_start = claims_.ReadyAt(entry);
    return;
  }
  const int min = entry.job.request.min;
  const bool by_nodes = decision.reason != ScheduleReason::kQuotaExhausted;
  const bool told = decision.reason == ScheduleReason::kWaitingForVictims;
  const bool waits = told || MakeRoom(entry, min, decision);
  if (waits && claims_.Find(entry) != nullptr) {
    decision.numbers.expected_start = claims_.ReadyAt(entry);
    return;
  }
  if (!waits) ExplainProtection(entry, decision);
  const std::optional<absl::Time> start =
      reservations_.Reserve(entry, std::max(decision.workers, min), by_nodes || waits);
  if (start) decision.numbers.expected_start = *start;
  if (!waits && by_nodes && options_.defragment) Defragment(entry, decision);
}

void Cycle::ExplainProtection(const JobEntry& entry, Decision& decision) const {
  const auto until = FirstUnprotected(now_, state_, entry);
  if (!until) return;
  absl::StrAppend(&decision.detail, decision.detail.empty() ? "" : "; ",
                  "jobs that it could take the place of have not run for their queue's minRuntime; "
                  "the first has in ",
                  absl::FormatDuration(absl::Ceil(*until - now_, absl::Seconds(1))));
}

bool Cycle::ClaimAgain(JobEntry& entry, int least, Decision& decision) {
  if (!claimed_ || claimed_->workers < least || !claims_.Add(entry, claimed_->workers))
    return false;
  decision.reason = ScheduleReason::kWaitingForVictims;
  decision.workers = claims_.Find(entry)->workers;
  return true;
}

bool Cycle::MakeRoom(JobEntry& entry, int least, Decision& decision) {
  if (ClaimAgain(entry, least, decision)) return true;
  VictimOptions victims = VictimOptionsOf(options_);
  victims.claims = &claims_;
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

void Cycle::Evict(const Victim& victim, const JobEntry& newcomer, const VictimPlan& plan) {
  Decision decision;
  decision.action = victim.keep == 0 ? ScheduleAction::kStop : ScheduleAction::kShrink;
  decision.reason = victim.reclaim ? ScheduleReason::kReclaimed : ScheduleReason::kPriority;
  decision.job = victim.entry->job.uid;
  decision.workers = victim.keep;
  decision.for_job = newcomer.job.uid;
  decision.numbers.queue = state_.tree->queue_name(victim.entry->queue);
  decision.numbers.cost = plan.cost;
  decision.numbers.cost_bound = plan.cost_bound;
  victim.entry->job.leaving = victim.entry->job.workers() - victim.keep;
  victim.entry->job.leaves_for = newcomer.job.uid;
  claims_.Told(*victim.entry, victim.keep, victim.entry->job.workers());
  decisions_.push_back(std::move(decision));
}

void Cycle::Defragment(JobEntry& entry, Decision& decision) {
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

void Cycle::GrowShrunk() {
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
std::optional<PartialGang> Cycle::LargerGang(const JobEntry& entry) const {
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

void Cycle::TryToGrow(JobEntry& entry) {
  const std::optional<PartialGang> gang = LargerGang(entry);
  if (!gang) return;
  const int workers = entry.job.workers();
  const std::shared_ptr<const GangNodes> usable = NodesFor(entry);
  GatedTree gated(tree_, usable.get(), gang->request.per_worker);
  auto answer = CompleteGang(tree_, *gang, options_.links);
  gated.Open();
  auto* completion = std::get_if<Completion>(&answer);
  if (completion == nullptr) return;
  std::vector<std::string> nodes = entry.job.nodes;
  for (const auto& [worker, node] : completion->nodes) nodes.push_back(node);
  const std::vector<int> added =
      NodesOf(std::vector<std::string>(nodes.begin() + workers, nodes.end()));
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
