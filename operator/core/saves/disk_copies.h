#ifndef MUSTER_OPERATOR_CORE_SAVES_DISK_COPIES_H_
#define MUSTER_OPERATOR_CORE_SAVES_DISK_COPIES_H_

#include <cstdint>

#include "absl/time/time.h"
#include "operator/core/state/draft.h"

namespace muster::control {

// Returns the step from which the next copies are kept on disk, while `step` is committed and so
// many are made in a second: far enough ahead that the order reaches every agent before a copy of
// that step is there, so that all keep copies of one version.
int64_t DiskStepAfter(int64_t step, double steps_per_second);

// Policy: while a round of a job with checkpoint.memory.disk is Active, orders the agents of its
// members to keep copies on the disks of their nodes, whenever `every` is over. Nothing is kept for
// the next leader, whose first order comes `every` after it has found the round. With the first
// order after three intervals it warns of members none of whose copies has come to a disk.
void KeepCopiesOnDisk(Draft& draft);

// Returns until when a round is to wait for agents that have attached and not said yet of which
// workers they found copies on disk; InfinitePast if there is none. Where copies lie is told to the
// members when their round is prepared.
absl::Time DisksKnownBy(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SAVES_DISK_COPIES_H_
