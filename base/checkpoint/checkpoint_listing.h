#ifndef MUSTER_BASE_CHECKPOINT_CHECKPOINT_LISTING_H_
#define MUSTER_BASE_CHECKPOINT_CHECKPOINT_LISTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"

namespace muster {

// One entry of a checkpoint directory, judged by names, sizes and the manifest's head alone; the
// tensors' bytes are not read.
struct CheckpointListing {
  std::string directory;  // its name, e.g. step-000001000
  int64_t step = -1;      // -1 if unknown
  int64_t attempt = 0;
  int64_t term = 0;
  int64_t round = 0;
  int64_t writers = 0;
  std::string job;  // the job that saved it
  std::string job_uid;
  std::string history;  // the run it belongs to; empty in checkpoints older than histories
  uint64_t bytes = 0;   // of all files the manifest names
  std::string created;  // RFC 3339
  bool complete = false;
  // The reason why it is not complete, for people: half-written, truncated, corrupted, foreign.
  std::string problem;
  // True if it is whole, but a newer round has saved this step of the run.
  bool superseded = false;
  // True after an error of the file system: the checkpoint could not be read, and may be whole.
  bool unreadable = false;
};

// Lists the complete checkpoints, newest first, then the others by name. A missing `uri` gives an
// empty list. One that was set aside counts if nothing complete has its name: the process that was
// to give the name to another one has died. Abandoned checkpoints, the claim and hidden directories
// are not listed. Of several complete ones of a run and step, which only an object store can hold,
// that of the newest round counts; the others are superseded.
absl::StatusOr<std::vector<CheckpointListing>> ListCheckpoints(Files& files,
                                                               const std::string& uri);
// Inspects one checkpoint directory, given by its own path.
CheckpointListing InspectCheckpoint(Files& files, const std::string& path);

// Lists the abandoned checkpoints in the same order, each with the folder that it is in, if any.
absl::StatusOr<std::vector<CheckpointListing>> ListAbandoned(Files& files, const std::string& uri);

// Marks a checkpoint in an object store as abandoned.
absl::Status MarkAbandoned(Files& files, const std::string& path, const CheckpointListing& listing);

// Returns abandoned-<history>, the folder that keeps the checkpoints of a run that was given up.
std::string AbandonedName(const std::string& history);
bool IsAbandonedName(const std::string& name);
// The files by which a checkpoint is known and complete.
inline constexpr char kManifestName[] = "manifest.json";
inline constexpr char kDoneName[] = "DONE";
// The file by which a checkpoint in an object store, where it cannot be moved, is abandoned. It
// names the run that was given up.
inline constexpr char kAbandonedMark[] = "ABANDONED";
// The folder by which a job claims a directory of checkpoints.
inline constexpr char kClaimName[] = "claim";

// Return step-000001000 and step-000001000.r7.
std::string CheckpointName(int64_t step);
std::string PartialCheckpointName(int64_t step, int64_t round);
// Returns step-000001000.r7-0123abcd, the name of a checkpoint in an object store: it has this name
// from the first byte on, because it cannot be renamed, so every round of every job has another
// one.
std::string ObjectCheckpointName(int64_t step, const std::string& job_uid, int64_t term,
                                 int64_t round);
// Ends a checkpoint's name, before .r<round>, that round <round> has set aside: another one of the
// step takes the name.
inline constexpr char kSetAside[] = ".old";
// Returns the step of a checkpoint's name, in a directory or in an object store; -1 for a name of
// any other form.
int64_t StepOfCheckpointName(const std::string& name);

// Returns the contents of the file DONE beside a manifest of these bytes.
std::string CheckpointDoneContents(const std::string& manifest);

}  // namespace muster

#endif  // MUSTER_BASE_CHECKPOINT_CHECKPOINT_LISTING_H_
