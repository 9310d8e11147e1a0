#ifndef MUSTER_TRAINER_ENGINE_STEP_UNIT_VALUES_H_
#define MUSTER_TRAINER_ENGINE_STEP_UNIT_VALUES_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "trainer/comm/communicator.h"
#include "trainer/engine/step/slice_gather.h"
#include "trainer/offload/state_rest.h"
#include "trainer/parallel/unit.h"

namespace muster::trainer {

// Makes the values of units whole on the ranks of a group, each of which holds a slice of them,
// which may rest elsewhere. One instance serves one round. Not thread-safe.
class UnitValues {
 public:
  // All must outlive this. If `group` is null, this rank holds all slices.
  UnitValues(const std::vector<Unit>& units, Communicator* group, StateRest& rest)
      : units_(units), rest_(rest) {
    if (group != nullptr) gather_.emplace(*group);
  }

  // Starts the gathering of a unit's values; waits for an earlier one if two are under way. Fails
  // if the held values cannot be brought from where they rest.
  absl::Status Gather(int unit);
  // Returns when the gatherings of all units that a block uses are done.
  absl::Status AwaitBlock(int block);
  absl::Status AwaitAll();
  // Frees a unit's values as a whole, if they are divided, once their gathering is done.
  absl::Status Release(int unit);

 private:
  const std::vector<Unit>& units_;
  StateRest& rest_;
  std::optional<SliceGather> gather_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_UNIT_VALUES_H_
