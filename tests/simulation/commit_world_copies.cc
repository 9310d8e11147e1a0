// The copies of the weights in memory in the model of a job: each rank copies every step but the
// last, its agent keeps the copies when the rank dies, and another's keeps replicas of them.

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "proto/muster/v1alpha1/round_id.h"
#include "tests/simulation/commit_world.h"
#include "tests/simulation/commit_world_words.h"

namespace muster {
namespace {

template <typename Copy>
bool IsOf(const Copy& copy, const v1alpha1::Version& version) {
  return copy.version.step() == version.step() && copy.version.attempt() == version.attempt();
}

}  // namespace

// Call when a step was applied in a round, or a round has begun with it. As StateCopies does, this
// keeps one older copy if that was made in this round, else two.
void CommitWorld::BeginCopy(Rank& rank) {
  const v1alpha1::Version& applied = *rank.machine.applied();
  if (!kind_.copies || applied.step() == 0 || applied.step() >= steps_) return;
  const size_t keep = rank.copied_in_round ? 1 : 2;
  if (rank.copies.size() > keep) {
    rank.copies.erase(rank.copies.begin(), rank.copies.end() - static_cast<std::ptrdiff_t>(keep));
  }
  rank.copies.push_back({applied, rank.weights, rank.slice, /*complete=*/false, /*sent=*/false});
  rank.copied_in_round = true;
}

// Call when all ranks have the state of a round: the rank forgets what the round does not build on,
// and copies the state if it has no copy of it. Its worker sends that to the keeper of this round.
void CommitWorld::BeginCopies(Rank& rank) {
  const v1alpha1::Version& applied = *rank.machine.applied();
  rank.copies_begun = true;
  rank.copied_in_round = false;
  std::erase_if(rank.copies, [&](const MemoryCopy& copy) {
    return copy.version.step() > applied.step() || copy.version.attempt() > applied.attempt() ||
           (IsOf(copy, applied) && !(copy.slice == rank.slice));
  });
  for (MemoryCopy& copy : rank.copies) copy.sent = false;
  if (FindCopy(rank.copies, applied) == nullptr) BeginCopy(rank);
}

const CommitWorld::MemoryCopy* CommitWorld::FindCopy(const std::vector<MemoryCopy>& copies,
                                                     const v1alpha1::Version& version) {
  const auto found = std::find_if(copies.begin(), copies.end(),
                                  [&](const MemoryCopy& copy) { return IsOf(copy, version); });
  return found == copies.end() ? nullptr : &*found;
}

int CommitWorld::KeeperOf(const Rank& rank, int index) const {
  const Collectives* round = Find(rank.machine.round());
  if (!kind_.replicas || round == nullptr || round->members.size() < 2) return -1;
  const auto place = std::find(round->members.begin(), round->members.end(), index);
  return place + 1 == round->members.end() ? round->members.front() : *(place + 1);
}

// A rank begins no step before its newest copy is whole at the keeper, so that all that any worker
// had is at most a step old elsewhere.
bool CommitWorld::AwaitsReplica(const Rank& rank, int index) const {
  return !rank.copies.empty() && !rank.copies.back().sent && KeeperOf(rank, index) >= 0;
}

// Agents are told where to send once all ranks have joined.
bool CommitWorld::CanSendReplica(const Rank& rank, int index) const {
  if (!rank.alive || !rank.copies_begun || !AwaitsReplica(rank, index)) return false;
  const std::vector<int>& members = Find(rank.machine.round())->members;
  return rank.copies.back().complete && !ranks_[static_cast<size_t>(KeeperOf(rank, index))].lost &&
         std::all_of(members.begin(), members.end(), [&](int member) {
           const Rank& other = ranks_[static_cast<size_t>(member)];
           return other.copies_begun && Same(other.machine.round(), rank.machine.round());
         });
}

// As the agent does, the keeper has the newest two of one rank.
void CommitWorld::SendReplica(Rank& rank, int index) {
  MemoryCopy& copy = rank.copies.back();
  copy.sent = true;
  Rank& keeper = ranks_[static_cast<size_t>(KeeperOf(rank, index))];
  if (keeper.keeps_of != index) keeper.replicas.clear();
  keeper.keeps_of = index;
  std::erase_if(keeper.replicas, [&](const MemoryCopy& replica) {
    return replica.version.step() == copy.version.step();
  });
  keeper.replicas.push_back(copy);
  if (keeper.replicas.size() > 2) keeper.replicas.erase(keeper.replicas.begin());
}

std::string CommitWorld::LoadCopy(Rank& rank, int index) {
  const MemoryCopy* copy = FindCopy(rank.copies, rank.resume->version());
  if (copy == nullptr) return "a rank is to load a copy that it does not have";
  rank.weights = copy->weights;
  rank.sealed_weights.clear();
  rank.slice = copy->slice;
  if (absl::Status status = rank.machine.Restored(); !status.ok()) {
    return std::string(status.message());
  }
  return Arrive(rank, index);
}

// A process that ends leaves what it was writing torn.
CommitWorld::Rank CommitWorld::AfterDeath(const Rank& dead) const {
  Rank rank = NewRank();
  rank.copies = dead.copies;
  rank.replicas = dead.replicas;
  rank.keeps_of = dead.keeps_of;
  std::erase_if(rank.copies, [](const MemoryCopy& copy) { return !copy.complete; });
  return rank;
}

// Copies that no agent loses bound the work that any deaths take back, unless the operator has
// gone on without some of the ranks.
std::string CommitWorld::CheckRedone(const History& weights) const {
  if (!kind_.copies || weights.size() + 1 >= most_committed_) return "";
  return absl::StrCat(most_committed_, " steps were committed, and the job goes on from ",
                      Text(weights));
}

}  // namespace muster
