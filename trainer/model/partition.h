#ifndef MUSTER_TRAINER_MODEL_PARTITION_H_
#define MUSTER_TRAINER_MODEL_PARTITION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "trainer/random/element_run.h"

namespace muster::trainer {

// The way in which the ranks of the tensor axis divide a parameter among themselves. `dimension`
// consists of `blocks` equal blocks, as a fused layer has one each for queries, keys and values.
// Each rank holds one run of every block, of whole pieces, which are a head's elements, say. Pure.
struct Partition {
  int dimension = -1;  // -1: every rank holds the whole parameter
  int64_t blocks = 1;
  int64_t pieces = 1;   // of a block
  bool uneven = false;  // ranks may hold different numbers of pieces, but each at least one

  bool operator==(const Partition&) const = default;
};

// One of the `count` parts of a model that the ranks of the tensor axis hold.
struct ModelPart {
  int index = 0;
  int count = 1;

  bool operator==(const ModelPart&) const = default;
};

// Returns true if ranks have different elements of such a parameter.
inline bool IsDivided(const Partition& partition, ModelPart part) {
  return part.count > 1 && partition.dimension >= 0;
}

// Returns InvalidArgument, with the nearest numbers that would do, unless `parts` ranks can divide
// a parameter.
absl::Status CheckParts(const Partition& partition, int parts);

// The functions below want CheckParts() to hold, and 0 <= part.index < part.count.

// Returns the pieces of each block that a rank holds: from floor(pieces * index / count) up to
// floor(pieces * (index + 1) / count).
ElementRun PiecesOfPart(const Partition& partition, ModelPart part);
// Returns the shape of a rank's part.
std::vector<int64_t> ShapeOfPart(const std::vector<int64_t>& shape, const Partition& partition,
                                 ModelPart part);
// A part as a box: of `view`, a shape with as many elements in the same order as the parameter's
// own, it has `lengths` from `start` on. The dimension that is divided is two in the view if it
// consists of several blocks.
struct PartBox {
  std::vector<int64_t> view, start, lengths;
};
PartBox BoxOfPart(const std::vector<int64_t>& shape, const Partition& partition, ModelPart part);
// A part as stripes: of every `stride` elements of the parameter, the `length` from `begin` on.
struct PartStripes {
  int64_t begin = 0, length = 1, stride = 1;
};
PartStripes StripesOfPart(const std::vector<int64_t>& shape, const Partition& partition,
                          ModelPart part);
// Returns the elements of the whole parameter that a part consists of, in the part's own order.
std::vector<ElementRun> RunsOfPart(const std::vector<int64_t>& shape, const Partition& partition,
                                   ModelPart part);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_PARTITION_H_
