#ifndef MUSTER_TRAINER_ENGINE_CHECKPOINTS_H_
#define MUSTER_TRAINER_ENGINE_CHECKPOINTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/engine/training_state.h"

namespace muster::trainer {

// Which rank writes, among how many.
struct SaveShare {
  v1alpha1::RoundId round;
  int rank = 0;
  int world_size = 1;
};

// The seam between the trainer and its checkpoint directory. Called from the engine's thread; what
// takes long runs in the background, which reports STARTED, WRITTEN and FAILED by itself.
class Checkpoints {
 public:
  virtual ~Checkpoints() = default;
  // Makes the directory this job's. AlreadyExists: it is another's. FailedPrecondition or
  // PermissionDenied: nobody can save there. After any other error the next save tries again.
  virtual absl::Status Claim() = 0;
  // Whether it can be written now: FailedPrecondition or PermissionDenied when it cannot, other
  // errors when that is not known.
  virtual absl::Status CheckWritable() = 0;
  // How many complete checkpoints are kept from the next save on.
  virtual void SetKeep(int keep) = 0;
  // What of the directory can be gone on from.
  struct Listing {
    std::vector<v1alpha1::CheckpointRef> complete;  // newest first; with why `state` cannot use one
    std::string error;                              // why nothing is known; empty: it is
  };
  virtual Listing List(const TrainingState& state) = 0;
  // The run goes on from `state` in `round`: what the directory holds of other histories, and of
  // this one beyond it, moves out of the way. By the first rank, before its first step.
  virtual absl::Status SetAside(const TrainingState& state, const v1alpha1::RoundId& round) = 0;
  // The newest version that this process knows to be on disk and whole: saved by it as the first
  // rank, or loaded.
  virtual std::optional<v1alpha1::Version> Durable() = 0;
  // Saves of such a share will come: what they need is made ready in the background.
  virtual void Expect(const TrainingState& state, const SaveShare& writer) = 0;
  // Copies this writer's share of the state and writes it in the background; returns after the
  // copy. Waits for an earlier one that is still being written.
  virtual absl::Status Save(const TrainingState& state, const SaveShare& writer) = 0;
  // Whether nothing is being written, now or within `timeout`.
  virtual bool WaitIdle(absl::Duration timeout) = 0;
  // Gives up what is being written: its round is over and not all shares will come.
  virtual void Abandon() = 0;
  // Fills the state's memory and returns the version it is then. DataLoss when the checkpoint is
  // damaged for good, FailedPrecondition when it is whole but of another model; after any other
  // error it may be as good as ever.
  virtual absl::StatusOr<v1alpha1::Version> Load(const v1alpha1::CheckpointRef& checkpoint,
                                                 TrainingState& state) = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_CHECKPOINTS_H_
