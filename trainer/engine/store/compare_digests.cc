#include "trainer/engine/store/compare_digests.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "trainer/commit/held_places.h"
#include "trainer/commit/version.h"
#include "trainer/engine/link/message_tensor.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

constexpr size_t kMostSides = 8;

// The digests of all ranks: of every unit's values, of its optimizer state, and of the position.
struct Digests {
  const MeshShape& mesh;
  const std::vector<int64_t>& all;  // by rank, then by item
  int64_t items = 0;
  int64_t units = 0;
  bool divides_values = false;
  const std::vector<Unit>& of_units;
  std::vector<bool> witnesses;  // by rank, of its own shard

  bool IsPosition(int64_t item) const { return item == 2 * units; }
  // Returns the unit that the item is of, which is not the position.
  const UnitLayout& UnitOf(int64_t item) const {
    return of_units[static_cast<size_t>(item % units)].layout();
  }
};

// Returns true if only ranks of one shard hold the item alike.
bool IsOfShard(const Digests& digests, int64_t item) {
  if (digests.IsPosition(item)) return false;
  return item >= digests.units || digests.divides_values;
}

// Returns true if only ranks of one part of the model hold the item alike.
bool IsOfPart(const Digests& digests, int64_t item) {
  return !digests.IsPosition(item) && digests.UnitOf(item).is_part;
}

// Returns true if ranks of that stage hold the item.
bool IsOfStage(const Digests& digests, int64_t item, int stage) {
  return digests.IsPosition(item) || digests.UnitOf(item).IsOfStage(stage);
}

// A rank has gathered whole values from the ranks of its copy, and each gave its slice.
bool IsWitness(const Digests& digests, int64_t item, int rank) {
  const bool gathered = item < digests.units && !digests.divides_values;
  if (!gathered) return digests.witnesses[static_cast<size_t>(rank)];
  const std::vector<int> copy = digests.mesh.Group(rank, {MeshAxis::kShard});
  return std::all_of(copy.begin(), copy.end(),
                     [&](int r) { return digests.witnesses[static_cast<size_t>(r)]; });
}

// Returns the item as ranks of this shard and this part of the model hold it, if they have an item
// of their own; else as all ranks of its stages do.
SharedItem ItemOf(const Digests& digests, int64_t item, int shard, int part) {
  SharedItem shared;
  for (int rank = 0; rank < digests.mesh.size(); ++rank) {
    const MeshCoordinates at = digests.mesh.CoordinatesOf(rank);
    if (IsOfShard(digests, item) && at.shard != shard) continue;
    if (IsOfPart(digests, item) && at.tensor != part) continue;
    if (!IsOfStage(digests, item, at.pipeline)) continue;
    shared.holders.push_back({rank, digests.all[static_cast<size_t>(rank * digests.items + item)],
                              IsWitness(digests, item, rank)});
  }
  return shared;
}

struct Finding {
  int64_t item = 0;
  Disagreement difference;
};

std::vector<Finding> FindDifferences(const Digests& digests, const std::vector<Proof>& proofs) {
  std::vector<Finding> found;
  for (int64_t item = 0; item < digests.items; ++item) {
    const int shards = IsOfShard(digests, item) ? digests.mesh.shard : 1;
    const int parts = IsOfPart(digests, item) ? digests.mesh.tensor : 1;
    for (int place = 0; place < shards * parts; ++place) {
      auto difference = JudgeItem(ItemOf(digests, item, place / parts, place % parts), proofs);
      if (difference) found.push_back({item, *std::move(difference)});
    }
  }
  return found;
}

std::string ItemText(const TrainingState& state, int64_t item) {
  const auto units = static_cast<int64_t>(state.units().size());
  if (item == 2 * units) {
    return "their version or their counts of updates, samples and skipped steps";
  }
  const std::string& name = state.units()[static_cast<size_t>(item % units)].layout().name;
  return absl::StrCat(item < units ? "the values" : "the optimizer's state", " of unit ", name);
}

// Returns the error for a difference where it is known who is right.
absl::Status Judged(const Finding& found, const v1alpha1::Version& version,
                    const TrainingState& state) {
  const Disagreement& difference = found.difference;
  return absl::DataLossError(absl::StrCat(
      RanksText(difference.wrong()), " and ", RanksText(difference.sides[*difference.right]),
      " differ at ", ToText(version), " in ", ItemText(state, found.item), "; the latter ",
      difference.by_majority ? "are in the majority" : "have what the checkpoint has",
      ": the former give up their state and receive it anew"));
}

absl::Status NotJudged(const Finding& found, const v1alpha1::Version& version,
                       const TrainingState& state) {
  std::vector<std::string> sides;
  for (const std::set<int>& side : found.difference.sides) {
    if (sides.size() < kMostSides) sides.push_back(RanksText(side));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      absl::StrJoin(sides, " and "), " differ at ", ToText(version), " in ",
      ItemText(state, found.item),
      ", and nothing tells which is right: none is in the majority, and there is no checkpoint of "
      "this step that agrees with one of them. All keep what they have. To go on, delete the pod "
      "of a worker that you hold to be wrong, so that its replacement takes the state of the "
      "others; or stop the job and resume it from its newest checkpoint"));
}

// Asks the ranks what the checkpoint says of each.
absl::StatusOr<std::vector<Proof>> GatherProofs(Communicator& world, Proof mine) {
  at::Tensor all = at::empty({world.size()}, at::kLong);
  MUSTER_RETURN_IF_ERROR(
      world.AllGather(all, ToTensor<int64_t>({static_cast<int64_t>(mine)}), "proofs")->Wait());
  std::vector<Proof> proofs;
  for (int rank = 0; rank < world.size(); ++rank) {
    proofs.push_back(static_cast<Proof>(all.const_data_ptr<int64_t>()[rank]));
  }
  return proofs;
}

// Gives up this rank's weights if they are wrong.
absl::Status Conclude(const std::vector<Finding>& found, int rank, const v1alpha1::Version& version,
                      TrainingState& state) {
  const Finding* judged = nullptr;
  bool wrong = false;
  for (const Finding& finding : found) {
    const std::set<int> losers = finding.difference.wrong();
    if (losers.empty()) continue;
    if (judged == nullptr) judged = &finding;
    wrong |= losers.count(rank) > 0;
  }
  if (judged == nullptr) return NotJudged(found.front(), version, state);
  const absl::Status status = Judged(*judged, version, state);
  if (wrong) state.commit().Lose();
  return status;
}

}  // namespace

absl::Status CompareDigests(const v1alpha1::ResumePoint& resume, const MeshShape& mesh,
                            Communicator& world, TrainingState& state,
                            absl::FunctionRef<Proof()> prove) {
  std::vector<CopyPlace> wanted;
  for (int rank = 0; rank < world.size(); ++rank) wanted.push_back(PlaceOf(mesh, rank));
  return CompareDigests(resume.version(), Witnesses(resume, wanted), mesh, world, state, prove);
}

absl::Status CompareDigests(const v1alpha1::Version& version, std::vector<bool> witnesses,
                            const MeshShape& mesh, Communicator& world, TrainingState& state,
                            absl::FunctionRef<Proof()> prove) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<int64_t> digest, state.Digest());
  const auto items = static_cast<int64_t>(digest.size());
  at::Tensor gathered = at::empty({items * world.size()}, at::kLong);
  MUSTER_RETURN_IF_ERROR(world.AllGather(gathered, ToTensor(digest), "digests")->Wait());
  const int64_t* numbers = gathered.const_data_ptr<int64_t>();
  const std::vector<int64_t> all(numbers, numbers + gathered.numel());
  const Digests digests = {.mesh = mesh,
                           .all = all,
                           .items = items,
                           .units = static_cast<int64_t>(state.units().size()),
                           .divides_values = state.divides_values(),
                           .of_units = state.units(),
                           .witnesses = std::move(witnesses)};
  std::vector<Finding> found = FindDifferences(digests, {});
  if (found.empty()) return absl::OkStatus();
  const bool judged = std::all_of(found.begin(), found.end(), [](const Finding& finding) {
    return finding.difference.right.has_value();
  });
  if (!judged) {
    MUSTER_ASSIGN_OR_RETURN(const std::vector<Proof> proofs, GatherProofs(world, prove()));
    found = FindDifferences(digests, proofs);
  }
  // A rank that leaves the round aborts its communicators, so each waits until all have their
  // answer.
  world.Barrier()->Wait().IgnoreError();
  return Conclude(found, world.rank(), version, state);
}

}  // namespace muster::trainer
