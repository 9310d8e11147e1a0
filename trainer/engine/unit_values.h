#ifndef MUSTER_TRAINER_ENGINE_UNIT_VALUES_H_
#define MUSTER_TRAINER_ENGINE_UNIT_VALUES_H_

#include <vector>

#include "absl/status/status.h"
#include "trainer/comm/communicator.h"
#include "trainer/engine/slice_gather.h"
#include "trainer/parallel/unit.h"

namespace muster::trainer {

// Makes the values of units whole on the ranks of a group, each of which holds a slice of them.
// One instance serves one round. Not thread-safe.
class UnitValues {
 public:
  // Both must outlive this.
  UnitValues(const std::vector<Unit>& units, Communicator& group) : units_(units), gather_(group) {}

  // Starts the gathering of a unit's values; waits for an earlier one if two are under way.
  absl::Status Gather(int unit);
  // Returns when the gatherings of all units that a block uses are done.
  absl::Status AwaitBlock(int block);
  absl::Status AwaitAll() { return gather_.Finish(); }
  // Frees a unit's values as a whole, if they are divided, once their gathering is done.
  absl::Status Release(int unit);

 private:
  const std::vector<Unit>& units_;
  SliceGather gather_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_UNIT_VALUES_H_
