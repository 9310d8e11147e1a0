#ifndef MUSTER_TRAINER_COMMIT_HELD_SHARDS_H_
#define MUSTER_TRAINER_COMMIT_HELD_SHARDS_H_

#include <optional>
#include <vector>

#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/parallel/slices.h"

namespace muster::trainer {

// Returns what each rank of the new round holds of the resume point's version; nullopt: nothing.
// Pure.
std::vector<std::optional<Shard>> HeldShards(const v1alpha1::ResumePoint& resume, int ranks);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_HELD_SHARDS_H_
