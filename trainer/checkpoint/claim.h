#ifndef MUSTER_TRAINER_CHECKPOINT_CLAIM_H_
#define MUSTER_TRAINER_CHECKPOINT_CLAIM_H_

#include <string>

#include "absl/status/status.h"
#include "base/files.h"

namespace muster::trainer {

// One job at a time writes to a directory of checkpoints: the folder claim/ in it holds
// owner.json, which names that job. It appears whole, by a rename, so of any number of processes
// that claim at once one wins and the others see whose it is.

struct ClaimOwner {
  std::string job;  // namespace/name
  std::string job_uid;
};

enum class Takeover {
  // From an earlier job of the same name: a name is given again only when nothing of the job that
  // had it runs any more.
  kFromEarlierJob,
  kNever,
};

// Claims `uri`, which is made if it is missing, for `owner`; OK when it is the owner's already.
// AlreadyExists names the owner when it is another job's; FailedPrecondition and PermissionDenied
// say why there can be no directory to claim. A directory without a claim is that of the job whose
// checkpoints are in it.
absl::Status ClaimCheckpoints(Files& files, const std::string& uri, const ClaimOwner& owner,
                              Takeover takeover);

// Whether something can be made in `uri`: PermissionDenied, say, when it cannot, and
// NotFound when it is not there. Leaves nothing.
absl::Status CheckWritable(Files& files, const std::string& uri);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_CLAIM_H_
