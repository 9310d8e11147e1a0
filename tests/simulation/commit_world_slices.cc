// The division of the weights among ranks in the model of a job.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "operator/core/resume/slice_span.h"
#include "planner/layout.h"
#include "proto/muster/v1alpha1/round_id.h"
#include "tests/simulation/commit_world.h"
#include "trainer/commit/held_places.h"

namespace muster {
namespace {

using trainer::CommitMachine;
using trainer::Shard;
using trainer::SliceMove;
using trainer::TreeNode;

// Every division among up to four ranks cuts a unit of so many chunks evenly.
constexpr int64_t kChunks = 12;

v1alpha1::StateSlice ToProto(const Shard& shard) {
  v1alpha1::StateSlice slice;
  if (shard.whole()) return slice;
  slice.set_shard(shard.index);
  slice.set_shards(shard.count);
  return slice;
}

}  // namespace

v1alpha1::RankPosition CommitWorld::PositionOf(const Rank& rank) const {
  v1alpha1::RankPosition position = rank.machine.Position();
  if (!rank.slice.whole()) *position.mutable_slice() = ToProto(rank.slice);
  for (auto copy = rank.copies.rbegin(); copy != rank.copies.rend(); ++copy) {
    *position.add_copies()->mutable_version() = copy->version;
    *position.mutable_copies()->rbegin()->mutable_slice() = ToProto(copy->slice);
  }
  for (auto replica = rank.replicas.rbegin(); replica != rank.replicas.rend(); ++replica) {
    *position.add_replicas()->mutable_version() = replica->version;
    *position.mutable_replicas()->rbegin()->mutable_slice() = ToProto(replica->slice);
  }
  return position;
}

Shard CommitWorld::WantedSlice(const Collectives& round, int index) const {
  v1alpha1::ParallelismSpec parallelism;
  parallelism.set_zero(kind_.shard > 1 ? 1 : 0);
  parallelism.set_shard(kind_.shard);
  const int count =
      planner::LayOutRanks(parallelism, static_cast<int>(round.members.size())).shard();
  const auto place = std::find(round.members.begin(), round.members.end(), index);
  return {static_cast<int>(place - round.members.begin()) % count, count};
}

bool CommitWorld::Cover(uint32_t ranks) const {
  std::vector<control::SliceSpan> spans;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks >> r & 1) spans.push_back(control::SpanOf(ToProto(ranks_[r].slice)));
  }
  return !control::FirstGap(std::move(spans)).has_value();
}

CommitWorld::Needs CommitWorld::NeedsOf(const Rank& rank, int index) const {
  const Collectives& round = *Find(rank.machine.round());
  std::vector<std::optional<Shard>> held, wanted;
  for (const auto& place :
       trainer::HeldPlaces(*rank.resume, static_cast<int>(round.members.size()))) {
    held.push_back(place ? std::optional(place->shard) : std::nullopt);
  }
  for (const int member : round.members) wanted.push_back(WantedSlice(round, member));
  std::vector<int64_t> sent(held.size());
  const int members = static_cast<int>(round.members.size());
  Needs needs;
  const TreeNode slice = trainer::SliceOf(kChunks, WantedSlice(round, index));
  int64_t got = 0;
  const auto moves = trainer::PlanMoves(kChunks, held, wanted, sent);
  if (!moves.ok()) return {.donors = {}, .complete = false};
  for (const SliceMove& move : *moves) {
    if (round.members[static_cast<size_t>(move.to)] != index) continue;
    const int from = trainer::RankOfHolder(*rank.resume, members, move.from);
    Donor& donor = needs.donors.emplace_back();
    donor.rank = round.members[static_cast<size_t>(from)];
    if (move.from >= members) {
      donor.stored = FindStored(ranks_[static_cast<size_t>(donor.rank)], rank.resume->version(),
                                *held[static_cast<size_t>(move.from)]);
      if (donor.stored == nullptr) continue;
    }
    got += move.chunks.leaves();
  }
  const auto place = std::find(round.members.begin(), round.members.end(), index);
  if (const auto& own = held[static_cast<size_t>(place - round.members.begin())]) {
    const TreeNode had = trainer::SliceOf(kChunks, *own);
    got += std::max<int64_t>(0, std::min(had.end, slice.end) - std::max(had.begin, slice.begin));
  }
  needs.complete = got == slice.leaves();
  return needs;
}

// Returns the replica, or the rank's own copy, of that slice; null if the rank has neither.
const CommitWorld::MemoryCopy* CommitWorld::FindStored(const Rank& rank,
                                                       const v1alpha1::Version& version,
                                                       const Shard& slice) {
  for (const std::vector<MemoryCopy>* copies : {&rank.copies, &rank.replicas}) {
    const MemoryCopy* copy = FindCopy(*copies, version);
    if (copy != nullptr && copy->slice == slice) return copy;
  }
  return nullptr;
}

bool CommitWorld::CanReceiveFrom(const Donor& donor, const Rank& rank) const {
  const Rank& other = ranks_[static_cast<size_t>(donor.rank)];
  if (!other.alive || !Same(other.machine.round(), rank.machine.round())) return false;
  return donor.stored == nullptr ? other.arrived : other.resume == rank.resume;
}

// Called when the rank has the resume point's version of its old slice.
std::string CommitWorld::Arrive(Rank& rank, int index) {
  rank.arrived = true;
  const Shard wanted = WantedSlice(*Find(rank.machine.round()), index);
  if (rank.slice == wanted) return Enter(rank, index);
  rank.waiting = true;
  return "";
}

std::string CommitWorld::Receive(Rank& rank, int index) {
  const Needs needs = NeedsOf(rank, index);
  if (!needs.complete) return "a rank goes on without a part of its slice";
  const bool restores = rank.machine.state() == CommitMachine::State::kRestoring;
  for (const Donor& donor : needs.donors) {
    const Rank& other = ranks_[static_cast<size_t>(donor.rank)];
    if (other.stepping) return "the donor went on before all had received";
    const History& sent = donor.stored == nullptr ? other.weights : donor.stored->weights;
    if (restores && rank.weights.empty()) rank.weights = sent;
    if (rank.weights != sent) return "a rank puts its slice together of two versions";
  }
  rank.waiting = false;
  rank.slice = WantedSlice(*Find(rank.machine.round()), index);
  if (!restores) {
    rank.machine.DropSealed();
    rank.sealed_weights.clear();
  } else if (absl::Status status = rank.machine.Restored(); !status.ok()) {
    return std::string(status.message());
  }
  return Enter(rank, index);
}

}  // namespace muster
