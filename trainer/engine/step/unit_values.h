#ifndef MUSTER_TRAINER_ENGINE_STEP_UNIT_VALUES_H_
#define MUSTER_TRAINER_ENGINE_STEP_UNIT_VALUES_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "trainer/comm/communicator.h"
#include "trainer/engine/link/sent_numbers.h"
#include "trainer/engine/step/slice_gather.h"
#include "trainer/offload/state_rest.h"
#include "trainer/parallel/unit.h"

namespace muster::trainer {

// All-gathers the values of units among the ranks of a group, each holding one slice, perhaps
// offloaded. One instance serves one round. Not thread-safe.
class UnitValues {
 public:
  // The first three must outlive this. If `group` is null, this rank holds all slices.
  UnitValues(const std::vector<Unit>& units, Communicator* group, StateRest& rest, SentNumbers sent)
      : units_(units), rest_(rest), rounds_(sent == SentNumbers::kBf16) {
    if (group != nullptr) gather_.emplace(*group);
  }

  // Starts to gather a unit's values; if two gathers are in progress, waits for the older one
  // first. Fails if offloaded values cannot be read.
  absl::Status Gather(int unit);
  // Waits until all units that a block uses are gathered.
  absl::Status AwaitBlock(int block);
  absl::Status AwaitAll();
  // Frees a unit's gathered values, if values are divided, once its gather has finished.
  absl::Status Release(int unit);

 private:
  const std::vector<Unit>& units_;
  StateRest& rest_;
  const bool rounds_;  // ranks send each other BF16
  std::optional<SliceGather> gather_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_UNIT_VALUES_H_
