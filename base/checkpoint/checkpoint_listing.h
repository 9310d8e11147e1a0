#ifndef MUSTER_BASE_CHECKPOINT_CHECKPOINT_LISTING_H_
#define MUSTER_BASE_CHECKPOINT_CHECKPOINT_LISTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files.h"

namespace muster {

// One entry of a checkpoint directory, judged by names, sizes and the manifest's head alone; the
// tensors' bytes are not read.
struct CheckpointListing {
  std::string directory;  // its name, e.g. step-000001000
  int64_t step = -1;      // -1 where unknown
  int64_t attempt = 0;
  int64_t term = 0;
  int64_t round = 0;
  int64_t writers = 0;
  std::string job;  // whose run it is
  std::string job_uid;
  std::string history;  // the run it belongs to; empty in those of before histories had names
  uint64_t bytes = 0;   // of all files the manifest names
  std::string created;  // RFC 3339
  bool complete = false;
  // Why it is not complete, for people: half-written, truncated, corrupted, foreign.
  std::string problem;
  // It could not be looked at, so that nothing is known of it: an error of the file system.
  bool unreadable = false;
};

// The complete ones newest first, then the others by name. A missing `uri` is an empty list. What
// was set aside, the claim and hidden directories are not among them.
absl::StatusOr<std::vector<CheckpointListing>> ListCheckpoints(Files& files,
                                                               const std::string& uri);
// One directory by its own path.
CheckpointListing InspectCheckpoint(Files& files, const std::string& path);

// The checkpoints that were set aside, in the same order, each with the folder that it is in.
absl::StatusOr<std::vector<CheckpointListing>> ListAbandoned(Files& files, const std::string& uri);

// abandoned-<history>: where checkpoints of a run that was given up are kept.
std::string AbandonedName(const std::string& history);
bool IsAbandonedName(const std::string& name);
// The folder by which a job claims a directory of checkpoints.
inline constexpr char kClaimName[] = "claim";

// step-000001000, step-000001000.r7
std::string CheckpointName(int64_t step);
std::string PartialCheckpointName(int64_t step, int64_t round);
// The reverse: -1 for names that are not of that form.
int64_t StepOfCheckpointName(const std::string& name);

// DONE holds this for a manifest of these bytes.
std::string CheckpointDoneContents(const std::string& manifest);

}  // namespace muster

#endif  // MUSTER_BASE_CHECKPOINT_CHECKPOINT_LISTING_H_
