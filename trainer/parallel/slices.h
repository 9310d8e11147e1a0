#ifndef MUSTER_TRAINER_PARALLEL_SLICES_H_
#define MUSTER_TRAINER_PARALLEL_SLICES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/model/partition.h"
#include "trainer/parallel/sum_tree.h"

namespace muster::trainer {

// The division of every unit's state among the ranks that hold one copy of it together (ZeRO;
// Rajbhandari et al., 2020). Pure. Counts are chunks of one unit.

// One of `count` parts of the state; the whole state is the only part of one.
struct Shard {
  int index = 0;
  int count = 1;

  bool whole() const { return count == 1; }
  bool operator==(const Shard&) const = default;
};

// A stage of a pipeline, as a rank has it of the model.
struct ModelStage {
  int index = 0;
  int count = 1;

  bool operator==(const ModelStage&) const = default;
};

// A rank's place among those that hold one copy of the state: a shard of one part of one stage.
struct CopyPlace {
  ModelPart part;
  Shard shard;
  ModelStage stage;

  // The places of a copy are numbered stage after stage, and in each part after part.
  int index() const { return (stage.index * part.count + part.index) * shard.count + shard.index; }
  int count() const { return stage.count * part.count * shard.count; }
  // Returns true if both are of models that are divided alike, into parts and stages.
  bool IsOfModelOf(const CopyPlace& other) const {
    return part.count == other.part.count && stage.count == other.stage.count;
  }
  // Returns true if they are of the same part of such models: a rank has one part for life.
  bool IsOfPartOf(const CopyPlace& other) const { return IsOfModelOf(other) && part == other.part; }
  bool whole() const { return count() == 1; }
  bool operator==(const CopyPlace&) const = default;
};

// Returns the run of a unit's chunks that the shard holds: floor(chunks * index / count) up to
// floor(chunks * (index + 1) / count). Runs of different counts thus meet at common boundaries, and
// shards whose fractions cover [0, 1] cover every unit, whatever its size.
TreeNode SliceOf(int64_t chunks, const Shard& shard);

// A run of chunks that one rank, or another holder, sends to a rank.
struct SliceMove {
  int from = 0;
  int to = 0;
  TreeNode chunks;

  bool operator==(const SliceMove&) const = default;
};

// Plans, for one unit, how every rank r comes to hold wanted[r] while it holds held[r] (nullopt:
// nothing, as of a unit of another part of the model). There may be holders beyond the ranks, which
// only send. Each missing run is cut where holders' slices begin and end, and each piece comes from
// the holder with the least to send so far: `sent`, by holder, in chunks, which the plan raises.
// All ranks make the same plan, or find alike that a piece is missing: Internal, with its chunks,
// because holders are chosen so that they hold all.
absl::StatusOr<std::vector<SliceMove>> PlanMoves(int64_t chunks,
                                                 std::span<const std::optional<Shard>> held,
                                                 std::span<const std::optional<Shard>> wanted,
                                                 std::vector<int64_t>& sent);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PARALLEL_SLICES_H_
