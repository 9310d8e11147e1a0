#ifndef MUSTER_TRAINER_ENGINE_COPY_FOLDER_H_
#define MUSTER_TRAINER_ENGINE_COPY_FOLDER_H_

#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/parallel/slices.h"

namespace muster::trainer {

// A folder of copies of one rank's part of the state: its own, or the replicas of another's. Each
// is a checkpoint directory of one writer (state_copies.h).

// Returns the complete copies in `folder` of the job with this uid, newest first; none if it cannot
// be read.
std::vector<v1alpha1::StateCopy> ListCopies(Files& files, const std::string& folder,
                                            const std::string& job_uid);

// Returns the slice that a copy holds; nothing if its record does not say.
std::optional<Shard> ShardOfCopy(const RunRecord& run);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_COPY_FOLDER_H_
