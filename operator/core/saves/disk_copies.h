#ifndef MUSTER_OPERATOR_CORE_SAVES_DISK_COPIES_H_
#define MUSTER_OPERATOR_CORE_SAVES_DISK_COPIES_H_

#include <cstdint>

#include "absl/time/time.h"
#include "operator/core/state/draft.h"

namespace muster::control {

// Returns the first step whose copies are to be kept on disk, given the newest committed `step` and
// the training speed. It is far enough ahead that the order reaches every agent before that step is
// copied, so that all agents keep copies of one version.
int64_t DiskStepAfter(int64_t step, double steps_per_second);

// Policy: while a round of a job with checkpoint.memory.disk is Active, orders its members' agents
// to keep copies on their nodes' disks, once per `every`. The schedule is not persisted: a new
// leader gives its first order `every` after it has found the round. The first order after three
// intervals also warns of members that have no copy on any disk.
void KeepCopiesOnDisk(Draft& draft);

// Returns the time until which a round waits for attached agents that have not yet reported whose
// copies they found on disk; InfinitePast if it need not wait. Members learn where copies are when
// their round is prepared.
absl::Time DisksKnownBy(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SAVES_DISK_COPIES_H_
