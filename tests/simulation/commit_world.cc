#include "tests/simulation/commit_world.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/core/resume/resume.h"
#include "proto/muster/v1alpha1/round_id.h"
#include "tests/simulation/commit_world_words.h"

namespace muster {
namespace {

using trainer::CommitMachine;
using trainer::RestorePlan;
using v1alpha1::ResumePoint;
using v1alpha1::RoundId;

}  // namespace

CommitWorld::CommitWorld(int ranks, int steps, const Trouble& trouble, const JobKind& kind,
                         Decider decide)
    : steps_(steps),
      kind_(kind),
      decide_(decide),
      left_(trouble),
      ranks_(static_cast<size_t>(ranks), NewRank()) {}

CommitWorld::Rank CommitWorld::NewRank() const {
  Rank rank;
  rank.machine = CommitMachine(kind_.confirms);
  return rank;
}

ResumePoint CommitWorld::Decide(const std::vector<v1alpha1::RankPosition>& positions,
                                int64_t round) {
  control::ResumeOptions options;
  options.min_attempt = round;
  // A job that has begun has a floor. Without copies it makes no difference here.
  const bool copies = std::any_of(positions.begin(), positions.end(),
                                  [](const auto& position) { return position.copies_size() > 0; });
  if (copies) options.floor = control::Floor{};
  return control::DecideResume(positions, options).point;
}

std::string CommitWorld::Name(const Action& action) {
  static const char* const kNames[] = {
      "deliver",    "receive",       "begin step",      "seal",        "send vote",
      "see vote",   "prepare",       "send confirm",    "see confirm", "begin apply",
      "end apply",  "abandon apply", "begin copies",    "end copy",    "send replica",
      "die",        "lose",          "return",          "partition",   "heal",
      "open round", "send go",       "restart operator"};
  return absl::StrCat(kNames[static_cast<int>(action.kind)], " ", action.rank);
}

std::vector<CommitWorld::Action> CommitWorld::Actions() const {
  std::vector<Action> actions;
  for (int kind = 0; kind <= static_cast<int>(Kind::kRestartOperator); ++kind) {
    const bool of_a_rank = kind < static_cast<int>(Kind::kOpenRound);
    for (int r = 0; r < (of_a_rank ? static_cast<int>(ranks_.size()) : 1); ++r) {
      const Action action{static_cast<Kind>(kind), r};
      if (CanDo(action)) actions.push_back(action);
    }
  }
  return actions;
}

bool CommitWorld::CanDo(const Action& action) const {
  const Rank& rank = ranks_[static_cast<size_t>(action.rank)];
  const CommitMachine::State state = rank.machine.state();
  switch (action.kind) {
    case Kind::kDeliver:
      return rank.alive && rank.heard && !rank.orders.empty() &&
             state != CommitMachine::State::kApplying;
    case Kind::kReceive: {
      if (!rank.alive || !rank.waiting) return false;
      const std::vector<Donor> donors = NeedsOf(rank, action.rank).donors;
      return std::all_of(donors.begin(), donors.end(),
                         [&](const Donor& donor) { return CanReceiveFrom(donor, rank); });
    }
    case Kind::kBeginStep:
      return rank.alive && rank.in_round && state == CommitMachine::State::kReady &&
             rank.machine.applied()->step() < steps_ && Complete(rank) &&
             (rank.copies.empty() || rank.copies.back().complete) &&
             !AwaitsReplica(rank, action.rank) && (!kind_.copies || rank.copies_begun);
    case Kind::kSeal:
      return rank.alive && state == CommitMachine::State::kComputing && Complete(rank);
    case Kind::kSendVote:
      return rank.alive && state == CommitMachine::State::kSealed;
    case Kind::kSeeVote:
      return rank.alive && state == CommitMachine::State::kVoted && Complete(rank);
    case Kind::kPrepareUpdate:
      return rank.alive && state == CommitMachine::State::kPreparing;
    case Kind::kSendConfirm:
      return rank.alive && state == CommitMachine::State::kPrepared;
    case Kind::kSeeConfirm:
      return rank.alive && state == CommitMachine::State::kConfirming && Complete(rank);
    case Kind::kBeginApply:
      return rank.alive && state == CommitMachine::State::kDecided;
    case Kind::kEndApply:
      return rank.alive && state == CommitMachine::State::kApplying;
    case Kind::kAbandonApply:
      return rank.alive && state == CommitMachine::State::kApplying && left_.failed_writes > 0;
    case Kind::kBeginCopies:
      return kind_.copies && rank.alive && rank.in_round && !rank.copies_begun && Complete(rank);
    case Kind::kEndCopy:
      return rank.alive && !rank.copies.empty() && !rank.copies.back().complete;
    case Kind::kSendReplica:
      return CanSendReplica(rank, action.rank);
    case Kind::kDie:
      return rank.alive && left_.deaths > 0;
    case Kind::kLose:
      return !rank.lost && left_.losses > 0;
    case Kind::kReturn:
      return !rank.alive;
    case Kind::kPartition:
      return rank.alive && rank.heard && left_.partitions > 0;
    case Kind::kHeal:
      return rank.alive && !rank.heard;
    case Kind::kOpenRound:
      return !Wanted().empty() && (changed_ || left_.extra_rounds > 0);
    case Kind::kSendGo:
      return ((phase_ == Phase::kPreparing && positions_.size() == members_.size()) ||
              (phase_ == Phase::kGoing && go_sent_ < members_.size()));
    case Kind::kRestartOperator:
      return left_.operator_restarts > 0;
  }
  return false;
}

std::string CommitWorld::Do(const Action& action) {
  const int index = action.rank;
  Rank& rank = ranks_[static_cast<size_t>(index)];
  std::string broken;
  switch (action.kind) {
    case Kind::kDeliver:
      broken = Deliver(rank, index);
      break;
    case Kind::kReceive:
      broken = Receive(rank, index);
      break;
    case Kind::kBeginStep:
    case Kind::kSeal:
    case Kind::kSendVote:
    case Kind::kSeeVote:
    case Kind::kPrepareUpdate:
    case Kind::kSendConfirm:
    case Kind::kSeeConfirm:
    case Kind::kBeginApply:
      broken = DoInStep(action.kind, rank, index);
      break;
    case Kind::kEndApply:
      broken = EndApply(rank, index);
      break;
    case Kind::kAbandonApply:
      --left_.failed_writes;
      broken = AbandonApply(rank, index);
      break;
    case Kind::kBeginCopies:
      BeginCopies(rank);
      break;
    case Kind::kEndCopy:
      rank.copies.back().complete = true;
      break;
    case Kind::kSendReplica:
      SendReplica(rank, index);
      break;
    case Kind::kDie:
      --left_.deaths;
      Die(index);
      break;
    case Kind::kLose:
      --left_.losses;
      Lose(index);
      break;
    case Kind::kReturn:
      rank = AfterDeath(rank);
      changed_ = true;
      break;
    case Kind::kPartition:
      --left_.partitions;
      rank.heard = false;
      changed_ = true;
      break;
    case Kind::kHeal:
      rank.heard = true;
      changed_ = true;
      break;
    case Kind::kOpenRound:
      OpenRound();
      break;
    case Kind::kSendGo:
      broken = SendGo();
      break;
    case Kind::kRestartOperator:
      RestartOperator();
      break;
  }
  return broken.empty() ? CheckVersions() : broken;
}

std::vector<int> CommitWorld::Wanted() const {
  std::vector<int> wanted;
  for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) {
    if (ranks_[r].alive && ranks_[r].heard) wanted.push_back(r);
  }
  return wanted;
}

CommitWorld::Collectives* CommitWorld::Find(const RoundId& round) {
  for (Collectives& c : collectives_) {
    if (Same(c.round, round)) return &c;
  }
  return nullptr;
}
const CommitWorld::Collectives* CommitWorld::Find(const RoundId& round) const {
  return const_cast<CommitWorld*>(this)->Find(round);
}

void CommitWorld::Give(const Rank& rank, int index) {
  ++Find(rank.machine.round())->given[static_cast<size_t>(index)];
}

// Returns true if every member has contributed to the collective that the rank waits in. The rank
// itself has contributed to none after it.
bool CommitWorld::Complete(const Rank& rank) const {
  const Collectives* round = Find(rank.machine.round());
  if (round == nullptr) return false;
  const int mine = round->given[static_cast<size_t>(&rank - ranks_.data())];
  return mine > 0 && std::all_of(round->members.begin(), round->members.end(),
                                 [&](int member) { return round->given[member] >= mine; });
}

// Delivery of orders to a rank.

std::string CommitWorld::Deliver(Rank& rank, int index) {
  const Order order = rank.orders.front();
  rank.orders.erase(rank.orders.begin());
  if (order.go != nullptr) {
    if (!Same(order.round, rank.machine.round()) ||
        rank.machine.state() != CommitMachine::State::kHolding) {
      // A late Go must be refused.
      CommitMachine copy = rank.machine;
      return copy.Go(order.round, 0, *order.go).ok() ? "a late Go was obeyed" : "";
    }
    return Restore(rank, index, order);
  }
  if (!rank.machine.Prepare(order.round).ok()) return "";
  // A rank that answers has ended the copy that it was making.
  if (!rank.copies.empty()) rank.copies.back().complete = true;
  rank.in_round = rank.stepping = rank.arrived = rank.waiting = rank.copies_begun = false;
  if (Same(order.round, id_) && phase_ == Phase::kPreparing) {
    positions_.emplace_back(index, PositionOf(rank));
  }
  return "";
}

std::string CommitWorld::Restore(Rank& rank, int index, const Order& order) {
  const auto place = std::find(order.members.begin(), order.members.end(), index);
  const auto plan =
      rank.machine.Go(order.round, static_cast<int>(place - order.members.begin()), *order.go);
  if (!plan.ok()) return std::string(plan.status().message());
  rank.resume = order.go;
  switch (plan->action) {
    case RestorePlan::Action::kKeep:
      return Arrive(rank, index);
    case RestorePlan::Action::kApplyRelay:
      return "";
    case RestorePlan::Action::kReceive:
      rank.weights.clear();
      rank.sealed_weights.clear();
      rank.waiting = true;
      return "";
    case RestorePlan::Action::kInitialize:
      rank.weights.clear();
      rank.sealed_weights.clear();
      rank.slice = WantedSlice(*Find(order.round), index);
      if (!rank.machine.Restored().ok()) return "could not initialise";
      return Enter(rank, index);
    case RestorePlan::Action::kLoadCopy:
      return LoadCopy(rank, index);
    case RestorePlan::Action::kLoad:
      return "there are no checkpoints";
  }
  return "";
}

std::string CommitWorld::Enter(Rank& rank, int index) {
  rank.in_round = true;
  Give(rank, index);  // the comparison of digests
  return "";
}

// The operator.

bool CommitWorld::IsInUse(const Collectives& round) const {
  return Same(round.round, id_) || std::any_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) {
           return Same(rank.machine.round(), round.round) ||
                  std::any_of(rank.orders.begin(), rank.orders.end(),
                              [&](const Order& order) { return Same(order.round, round.round); });
         });
}

void CommitWorld::OpenRound() {
  std::erase_if(collectives_, [&](const Collectives& round) { return !IsInUse(round); });
  if (!changed_) --left_.extra_rounds;
  changed_ = false;
  id_.set_term(term_);
  id_.set_round(id_.round() + 1);
  members_ = Wanted();
  phase_ = Phase::kPreparing;
  positions_.clear();
  resume_.reset();
  go_sent_ = 0;
  for (const int member : members_) ranks_[member].orders.push_back({id_, members_, nullptr});
  collectives_.push_back({id_, members_, std::vector<int>(ranks_.size(), 0), {}});
}

std::string CommitWorld::SendGo() {
  if (phase_ == Phase::kPreparing) {
    std::sort(positions_.begin(), positions_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<v1alpha1::RankPosition> by_rank;
    for (const auto& [rank, position] : positions_) by_rank.push_back(position);
    const ResumePoint point = decide_(by_rank, id_.round());
    const ResumePoint again = decide_(by_rank, id_.round());
    if (point.SerializeAsString() != again.SerializeAsString()) return "DecideResume wavers";
    resume_ = std::make_shared<const ResumePoint>(point);
    // A round that lacks a rank also gives up that rank's copies, unless others keep replicas.
    if (members_.size() < ranks_.size() && !kind_.replicas) {
      most_committed_ = std::min(most_committed_, static_cast<size_t>(point.version().step()));
    }
    phase_ = Phase::kGoing;
    positions_.clear();
    // Ranks that are not members count as dead from here on.
    for (Committed& committed : committed_) committed.holders &= Mask(members_);
    std::erase_if(committed_, [&](const Committed& c) { return !Cover(c.holders); });
  }
  ranks_[members_[go_sent_++]].orders.push_back({id_, members_, resume_});
  return "";
}

// The new operator adopts a round in which all members step and reopens any other. Orders that were
// sent stay pending.
void CommitWorld::RestartOperator() {
  --left_.operator_restarts;
  ++term_;
  const bool all_active =
      phase_ == Phase::kGoing && std::all_of(members_.begin(), members_.end(), [&](int member) {
        return ranks_[member].in_round && Same(ranks_[member].machine.round(), id_);
      });
  positions_.clear();
  if (!all_active) {
    phase_ = Phase::kIdle;
    changed_ = true;
  }
}

void CommitWorld::Die(int index) {
  ranks_[index] = AfterDeath(ranks_[index]);
  ranks_[index].alive = false;
  changed_ = true;
  GiveUp(index);
}

void CommitWorld::Lose(int index) {
  ranks_[index] = NewRank();
  ranks_[index].alive = false;
  ranks_[index].lost = true;
  changed_ = true;
  GiveUp(index);
}

void CommitWorld::GiveUp(int index) {
  for (Committed& committed : committed_) committed.holders &= ~(1u << index);
  std::erase_if(committed_, [&](const Committed& c) { return !Cover(c.holders); });
}

}  // namespace muster
