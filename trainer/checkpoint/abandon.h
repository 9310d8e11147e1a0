#ifndef MUSTER_TRAINER_CHECKPOINT_ABANDON_H_
#define MUSTER_TRAINER_CHECKPOINT_ABANDON_H_

#include <string>

#include "absl/status/status.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files/files.h"
#include "trainer/checkpoint/manifest.h"

namespace muster::trainer {

// Checkpoints of a run that was given up are kept in abandoned-<history>/. They are listed and
// deleted only by somebody who asks for that directory by name, and count nowhere. In an object
// store they stay where they are, with the file ABANDONED in them.

// Moves one checkpoint there, under a name that is free, or marks it. It lies in the directory `at`
// of `uri`, or if that is empty under its own name.
absl::Status Abandon(Files& files, const std::string& uri, const CheckpointListing& checkpoint,
                     const std::string& at = "");

// Returns true if `checkpoint` is of a newer round of the same job than `run`. Then this process is
// a zombie and must leave the checkpoint alone.
bool IsOfNewerRound(const CheckpointListing& checkpoint, const RunRecord& run);

// Call when the run goes on as `run`: its history, from its step on, in its round. Moves every
// whole checkpoint of another history, or of a later step, away.
absl::Status SetAside(Files& files, const std::string& uri, const RunRecord& run);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_ABANDON_H_
