// The copies of the weights in memory in the model of a job: each rank copies every step but the
// last, and its agent keeps the copies when the rank dies.

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tests/simulation/commit_world.h"
#include "tests/simulation/commit_world_words.h"

namespace muster {

// Call when a step was applied in a round, or a round has begun with it. As StateCopies does, this
// keeps one older copy if that was made in this round, else two.
void CommitWorld::BeginCopy(Rank& rank) {
  const v1alpha1::Version& applied = *rank.machine.applied();
  if (!kind_.copies || applied.step() == 0 || applied.step() >= steps_) return;
  const size_t keep = rank.copied_in_round ? 1 : 2;
  if (rank.copies.size() > keep) {
    rank.copies.erase(rank.copies.begin(), rank.copies.end() - static_cast<std::ptrdiff_t>(keep));
  }
  rank.copies.push_back({applied, rank.weights, rank.slice, /*complete=*/false});
  rank.copied_in_round = true;
}

// Call when the rank has the state of a round: it forgets what the round does not build on, and
// copies the state if it has no copy of it.
void CommitWorld::BeginCopies(Rank& rank) {
  if (!kind_.copies) return;
  const v1alpha1::Version& applied = *rank.machine.applied();
  rank.copied_in_round = false;
  std::erase_if(rank.copies, [&](const MemoryCopy& copy) {
    return copy.version.step() > applied.step() || copy.version.attempt() > applied.attempt();
  });
  if (FindCopy(rank, applied) == nullptr) BeginCopy(rank);
}

const CommitWorld::MemoryCopy* CommitWorld::FindCopy(const Rank& rank,
                                                     const v1alpha1::Version& version) {
  const auto found =
      std::find_if(rank.copies.begin(), rank.copies.end(), [&](const MemoryCopy& copy) {
        return copy.version.step() == version.step() && copy.version.attempt() == version.attempt();
      });
  return found == rank.copies.end() ? nullptr : &*found;
}

std::string CommitWorld::LoadCopy(Rank& rank, int index) {
  const MemoryCopy* copy = FindCopy(rank, rank.resume->version());
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
