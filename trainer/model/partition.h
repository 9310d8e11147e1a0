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
  int64_t pieces = 1;  // of a block

  bool operator==(const Partition&) const = default;
};

// Returns InvalidArgument, with the nearest numbers that would do, unless `parts` ranks can hold
// equal parts of a parameter.
absl::Status CheckParts(const Partition& partition, int parts);

// The two below want CheckParts() to hold, and 0 <= part < parts.

// Returns the shape of a rank's part.
std::vector<int64_t> ShapeOfPart(const std::vector<int64_t>& shape, const Partition& partition,
                                 int parts);
// Returns the elements of the whole parameter that a part consists of, in the part's own order.
std::vector<ElementRun> RunsOfPart(const std::vector<int64_t>& shape, const Partition& partition,
                                   int part, int parts);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_PARTITION_H_
