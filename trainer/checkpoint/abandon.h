#ifndef MUSTER_TRAINER_CHECKPOINT_ABANDON_H_
#define MUSTER_TRAINER_CHECKPOINT_ABANDON_H_

#include <string>

#include "absl/status/status.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files.h"
#include "trainer/checkpoint/manifest.h"

namespace muster::trainer {

// Checkpoints of a run that was given up are kept in abandoned-<history>/, where nobody lists,
// counts or deletes them but who asks for it by name.

// Moves one there, under a name that is free.
absl::Status Abandon(Files& files, const std::string& uri, const CheckpointListing& checkpoint);

// Whether `checkpoint` may be younger than `run`: of a newer round of the same job. Then this
// process is a zombie, and the checkpoint is none of its business.
bool IsOfNewerRound(const CheckpointListing& checkpoint, const RunRecord& run);

// The run goes on as `run` says: its history, from its step on, in its round. Every complete
// checkpoint of another history, or of a later step, moves away.
absl::Status SetAside(Files& files, const std::string& uri, const RunRecord& run);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_ABANDON_H_
