#include "operator/queue/schedule.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/placement.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/order.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/quota_tree.h"
#include "operator/queue/cycle_context.h"
#include "operator/queue/growth.h"
#include "operator/queue/place_search.h"
#include "operator/queue/room/claims.h"
#include "operator/queue/room/reservations.h"
#include "operator/queue/room/room_plan.h"
#include "operator/queue/room_maker.h"

namespace muster::control {
namespace {

// The most orders in which claimants are given their places again.
constexpr int kMostOrdersOfClaims = 8;

// The waiting jobs that may claim, by the time of their first claim.
std::vector<JobEntry*> ClaimantsOf(const QueueBook::State& state, const PlaceSearch& places) {
  std::vector<JobEntry*> claimants;
  for (const QueueEntry& queue : state.queues) {
    for (JobEntry* entry : queue.waiting) {
      Decision unused;
      const bool may = entry->claimed_since.has_value() && !entry->job.fits_nowhere;
      if (may && places.MayEverStart(*entry, unused)) claimants.push_back(entry);
    }
  }
  std::sort(claimants.begin(), claimants.end(), [](const JobEntry* a, const JobEntry* b) {
    if (a->claimed_since != b->claimed_since) return *a->claimed_since < *b->claimed_since;
    return WaitsBefore()(a, b);
  });
  return claimants;
}

void ClaimSmallestSizes(std::vector<JobEntry*>& claimants, Claims& claims) {
  // Other jobs may now lie elsewhere: a claimant that finds no place is moved to the front.
  for (int tries = 0; tries < kMostOrdersOfClaims; ++tries) {
    const auto lost = std::find_if(claimants.begin(), claimants.end(), [&](JobEntry* entry) {
      return claims.Find(*entry) == nullptr && !claims.Add(*entry, entry->job.request.min);
    });
    if (lost == claimants.end() || lost == claimants.begin()) break;
    std::rotate(claimants.begin(), lost, lost + 1);
    for (JobEntry* entry : claimants) claims.Withdraw(*entry);
  }
  for (JobEntry* entry : claimants) {
    if (claims.Find(*entry) == nullptr) claims.Add(*entry, entry->job.request.min);
  }
}

// Renews the claims of jobs for which others were told to go, before any queue has a turn. Who has
// claimed for longest comes first, and every claimant gets its smallest size before any gets more.
void RenewClaims(CycleContext& cycle, const PlaceSearch& places) {
  if (!cycle.state.may_have_claims) return;
  Claims& claims = cycle.claims;
  std::vector<JobEntry*> claimants = ClaimantsOf(cycle.state, places);
  cycle.state.may_have_claims = !claimants.empty();
  ClaimSmallestSizes(claimants, claims);
  // No claimant's larger size costs another its smallest, so claims grow only now.
  for (JobEntry* entry : claimants) {
    const Claim* claim = claims.Find(*entry);
    if (claim == nullptr || claim->workers == entry->job.request.max) continue;
    claims.Withdraw(*entry);
    claims.Add(*entry,
               std::max(NominalWorkers(cycle.state, *entry, &claims), entry->job.request.min));
  }
}

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

// Runs one cycle of Schedule on its arguments: gives queues their turns, and decides about the job
// whose turn it is. Run() may be called once.
class Cycle {
 public:
  Cycle(absl::Time now, TopologyTree& tree, QueueBook::State& state, const ScheduleOptions& options)
      : context_(now, tree, state, options) {}

  std::vector<Decision> Run();

 private:
  // A queue's turn: the next of its jobs, and whether one has been passed over.
  struct Turn {
    OrderKey key;
    int queue = 0;
    std::set<JobEntry*, WaitsBefore>::iterator next;
    const JobEntry* head = nullptr;  // the first that can neither start nor get room made
    bool claims = false;             // others make room for an earlier job
    int looked_at = 0;               // jobs behind the head

    bool behind() const { return head != nullptr || claims; }
  };
  struct TurnAfter {
    bool operator()(const Turn& a, const Turn& b) const { return ComesBefore(b.key, a.key); }
  };
  void Offer(Turn turn);
  void Take(Turn turn);
  // Returns true if that is what keeps a job that fits nowhere from starting, and sets kFitsNowhere
  // if more nodes are all that it waits for. False: it has a place, or waits for no resources.
  bool WaitsForNodes(const JobEntry& entry, Decision& decision) const;
  // Starts the job, or says why not.
  Decision Try(JobEntry& entry, const Turn& turn);
  const JobEntry* WhoIsDelayed(const JobEntry& entry, const Placement& placement);
  void Start(JobEntry& entry, Placement placement, bool behind, Decision& decision);
  // Makes room for the first job of a queue that cannot start, or reserves a time for it.
  void HandleHead(JobEntry& entry, Decision& decision);

  CycleContext context_;
  const absl::Time now_ = context_.now;
  TopologyTree& tree_ = context_.tree;
  QueueBook::State& state_ = context_.state;
  const ScheduleOptions& options_ = context_.options;
  Reservations& reservations_ = context_.reservations;
  Claims& claims_ = context_.claims;
  std::vector<Decision>& decisions_ = context_.decisions;
  PlaceSearch places_{context_};
  RoomMaker room_{context_};
  // The claim that the job whose turn it is had before.
  std::optional<Claim> claimed_;
  bool held_by_claim_ = false;  // WhoIsDelayed last returned a claimant
  std::priority_queue<Turn, std::vector<Turn>, TurnAfter> turns_;
};

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

}  // namespace

std::vector<Decision> Schedule(absl::Time now, TopologyTree& tree, QueueBook& book,
                               const ScheduleOptions& options) {
  return Cycle(now, tree, book.state(), options).Run();
}

void FillBook(const Snapshot& snapshot, QueueBook& book) {
  book.SetCapacity(snapshot.memory.capacity);
  book.SetQueues(snapshot.memory.at, snapshot.queues);
  for (const QueuedJob& job : snapshot.jobs) book.Upsert(snapshot.memory.at, job);
  book.Remember(snapshot.memory);
}

std::vector<Decision> Schedule(absl::Time now, const Snapshot& snapshot) {
  TopologyTree tree(snapshot.inventory);
  QueueBook book(snapshot.memory.options);
  FillBook(snapshot, book);
  return Schedule(now, tree, book, snapshot.options);
}

}  // namespace muster::control
