// Checks the promises of the commit protocol at the moments when they could be broken.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/muster/v1alpha1/round_id.h"
#include "tests/simulation/commit_world.h"
#include "tests/simulation/commit_world_words.h"

namespace muster {
namespace {

using v1alpha1::ResumePoint;

std::pair<int64_t, int64_t> Pair(const v1alpha1::Version& version) {
  return {version.step(), version.attempt()};
}

}  // namespace

// Called when all members have restored: they must hold the same state, and it must continue every
// committed state that still has a holder. The first member to go on determines the agreed state;
// the others must match it.
std::string CommitWorld::Agree(Collectives& round, const Rank& rank) {
  if (round.started) {
    return round.agreed == rank.weights ? ""
                                        : absl::StrCat("one round starts with ", Text(round.agreed),
                                                       "and ", Text(rank.weights));
  }
  round.started = true;
  round.agreed = rank.weights;
  // The operator ignores members of an older round. If a member has left this one, none of its
  // steps can ever be reduced.
  if (!Same(round.round, id_)) return "";
  for (const int member : round.members) {
    const Rank& other = ranks_[member];
    if (!other.alive || !other.in_round || !Same(other.machine.round(), round.round)) return "";
  }
  const uint32_t members = Mask(round.members);
  for (const Committed& committed : committed_) {
    if (!IsPrefix(committed.weights, rank.weights)) {
      return absl::StrCat("committed ", Text(committed.weights), "was lost: going on from ",
                          Text(rank.weights));
    }
  }
  if (std::string redone = CheckRedone(rank.weights); !redone.empty()) return redone;
  return Commit(rank.weights, members);
}

std::string CommitWorld::Commit(const History& weights, uint32_t holders) {
  for (size_t r = 0; r < ranks_.size(); ++r) {
    if (!ranks_[r].alive || !IsPrefix(weights, ranks_[r].weights)) holders &= ~(1u << r);
  }
  std::erase_if(committed_, [&](const Committed& c) {
    return IsPrefix(c.weights, weights) && (c.holders & ~holders) == 0;
  });
  most_committed_ = std::max(most_committed_, weights.size());
  if (!weights.empty() && Cover(holders)) committed_.push_back({weights, holders});
  return "";
}

// Equal versions must mean equal weights, even on a zombie.
std::string CommitWorld::CheckVersions() const {
  for (size_t a = 0; a < ranks_.size(); ++a) {
    const auto& version = ranks_[a].machine.applied();
    if (!version) continue;
    for (size_t b = a + 1; b < ranks_.size(); ++b) {
      const auto& other = ranks_[b].machine.applied();
      if (other && Pair(*other) == Pair(*version) && ranks_[a].weights != ranks_[b].weights) {
        return absl::StrCat("one version is ", Text(ranks_[a].weights), "and ",
                            Text(ranks_[b].weights));
      }
    }
  }
  return "";
}

std::string CommitWorld::CheckEnd() const {
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const Rank& rank = ranks_[r];
    if (!rank.machine.applied() || rank.machine.applied()->step() != steps_) {
      return absl::StrCat("stuck: rank ", r, " ended at ", Text(rank.weights));
    }
    if (rank.weights != ranks_[0].weights) return "ranks ended with different weights";
    if (!Cover((1u << ranks_.size()) - 1)) return "a part of the weights is nobody's";
  }
  return "";
}

std::string CommitWorld::Key() const {
  std::string key;
  auto add = [&key](int64_t value) { key.push_back(static_cast<char>(value)); };
  auto add_history = [&](const History& history) {
    add(static_cast<int64_t>(history.size()));
    for (const auto& [step, round] : history) add(round);
  };
  auto add_resume = [&](const std::shared_ptr<const ResumePoint>& resume) {
    const std::string text = resume == nullptr ? "" : resume->SerializeAsString();
    add(static_cast<int64_t>(text.size()));
    key += text;
  };
  for (const Rank& rank : ranks_) {
    add(rank.alive | rank.heard << 1 | rank.in_round << 2 | rank.stepping << 3 | rank.arrived << 4 |
        rank.waiting << 5 | rank.lost << 6 | rank.copies_begun << 7);
    add(rank.slice.index | rank.slice.count << 3);
    add(static_cast<int>(rank.machine.state()));
    add(rank.machine.round().round());
    add(rank.machine.next().attempt());
    const std::string position = rank.machine.Position().SerializeAsString();
    add(static_cast<int64_t>(position.size()));
    key += position;
    add_resume(rank.resume);
    add_history(rank.weights);
    add_history(rank.sealed_weights);
    add_history(rank.prepared_weights);
    add(static_cast<int64_t>(rank.orders.size()));
    for (const std::vector<MemoryCopy>* copies : {&rank.copies, &rank.replicas}) {
      for (const MemoryCopy& copy : *copies) {
        add(copy.version.attempt() << 2 | copy.complete << 1 | copy.sent);
        add(copy.slice.index | copy.slice.count << 3);
        add_history(copy.weights);
      }
      add(static_cast<int64_t>(copies->size()) << 1 | rank.copied_in_round);
    }
    add(rank.keeps_of);
    for (const Order& order : rank.orders) {
      add(order.round.round() << 1 | (order.go != nullptr));
    }
  }
  for (const Collectives& round : collectives_) {
    if (!IsInUse(round)) continue;
    add(round.round.round());
    add(Mask(round.members));
    for (const int given : round.given) add(given);
    add(round.started);
    add_history(round.agreed);
  }
  for (const Committed& committed : committed_) {
    add_history(committed.weights);
    add(committed.holders);
  }
  for (const auto& [weights, by] : applied_by_) {
    add_history(weights);
    add(by);
  }
  for (const auto& [rank, position] : positions_) {
    add(rank);
    key += position.SerializeAsString();
  }
  add(static_cast<int64_t>(most_committed_));
  add(id_.round());
  add(term_);
  add(Mask(members_));
  add(static_cast<int>(phase_) | changed_ << 2);
  add(static_cast<int64_t>(go_sent_));
  add(left_.deaths | left_.partitions << 2 | left_.operator_restarts << 4 |
      left_.extra_rounds << 6);
  add(left_.failed_writes | left_.losses << 2);
  return key;
}

}  // namespace muster
