#ifndef MUSTER_TRAINER_CHECKPOINT_CLAIM_H_
#define MUSTER_TRAINER_CHECKPOINT_CLAIM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/files/files.h"

namespace muster::trainer {

// One job at a time writes to a directory of checkpoints: the folder claim/ in it holds owner.json,
// which names that job. The folder appears whole, by a rename, so that of any number of processes
// that claim at once one wins and the others see the owner. In an object store the file alone is
// created exclusively.

struct ClaimOwner {
  std::string job;  // namespace/name
  std::string job_uid;
};

enum class Takeover {
  // Takes the directory from an earlier job of the same name: a name is given again only when
  // nothing of the job that had it runs any more.
  kFromEarlierJob,
  kNever,
};

// Claims `uri`, which is made if it is missing, for `owner`; OK if it is the owner's already.
// AlreadyExists names the owner if it is another job's; FailedPrecondition and PermissionDenied
// state why there can be no directory to claim. A directory without a claim belongs to the job
// whose checkpoints are in it.
absl::Status ClaimCheckpoints(Files& files, const std::string& uri, const ClaimOwner& owner,
                              Takeover takeover);

// Returns OK if files can be made in `uri`, else for example PermissionDenied, or NotFound if `uri`
// is missing. Leaves nothing behind.
absl::Status CheckWritable(Files& files, const std::string& uri);

// Proves that ranks on different machines share one checkpoint directory: one rank writes the mark
// of a new round to claim/round.json, and the others look for it. Different volumes that are only
// mounted at the same path fail this test.
struct RoundMark {
  std::string job_uid;
  int64_t term = 0;
  int64_t round = 0;
};

// Replaces the mark of an earlier round. NotFound if the directory is not claimed.
absl::Status WriteRoundMark(Files& files, const std::string& uri, const RoundMark& mark);

// Returns OK if the directory has this mark, NotFound if it has another or none. A network file
// system may show a mark some time after it was written.
absl::Status FindRoundMark(Files& files, const std::string& uri, const RoundMark& mark);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_CLAIM_H_
