#ifndef MUSTER_TRAINER_CHECKPOINT_CATALOG_H_
#define MUSTER_TRAINER_CHECKPOINT_CATALOG_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files/files.h"
#include "trainer/checkpoint/reader.h"

namespace muster::trainer {

struct SkippedCheckpoint {
  std::string directory;
  std::string reason;  // a sentence for people
};

struct FoundCheckpoint {
  std::unique_ptr<CheckpointReader> reader;  // null: none is usable
  std::string directory;                     // its name within the uri
  std::vector<SkippedCheckpoint> skipped;    // newer or broken ones passed over
};

// Returns the newest checkpoint below `uri` that is complete and verified byte by byte.
// Half-written, truncated, corrupted and foreign directories are named in `skipped`; nothing is
// deleted. A missing uri has no checkpoint. `accept` (may be null) checks the newest complete one:
// its error is returned, with the directory's name, because a user who points at another model's
// checkpoints does not mean to train anew.
absl::StatusOr<FoundCheckpoint> FindNewestCheckpoint(
    Files& files, const std::string& uri,
    const std::function<absl::Status(const Manifest&)>& accept);

// Checks every file's size and checksum against the manifest. DataLoss names the first that
// differs.
absl::Status VerifyCheckpoint(Files& files, const std::string& path);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_CATALOG_H_
