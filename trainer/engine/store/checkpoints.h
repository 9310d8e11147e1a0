#ifndef MUSTER_TRAINER_ENGINE_STORE_CHECKPOINTS_H_
#define MUSTER_TRAINER_ENGINE_STORE_CHECKPOINTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/storage_trouble.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/engine/state/training_state.h"

namespace muster::trainer {

// Identifies one writer of a checkpoint: its rank among `world_size` ranks of a round, or, when the
// round is over, its shard among those of the state.
struct CheckpointWriterId {
  v1alpha1::RoundId round;
  int rank = 0;
  int world_size = 1;
  bool after_round = false;
};

// A checkpoint of which this rank still writes its share, or as the first rank waits for the
// others'.
struct SaveUnderway {
  int64_t step = 0;
  absl::Duration lasts;                                  // since it began
  std::optional<StorageTrouble> trouble = std::nullopt;  // as far as the storage tells
};

// The seam between the trainer and its checkpoint directory. Called from the engine's thread; long
// work runs in the background, which reports STARTED, WRITTEN and FAILED by itself.
class Checkpoints {
 public:
  virtual ~Checkpoints() = default;
  // Claims the directory for this job. AlreadyExists: another job owns it. FailedPrecondition or
  // PermissionDenied: nobody can save there. After any other error the next save tries again.
  virtual absl::Status Claim() = 0;
  // Returns OK if the directory can be written now, FailedPrecondition or PermissionDenied if it
  // cannot, and another error if that is not known.
  virtual absl::Status CheckWritable() = 0;
  // Marks the directory for this round, and looks for that mark: NotFound, perhaps only for a
  // while, if the rank that wrote it has another directory of the same path.
  virtual absl::Status WriteMark(const v1alpha1::RoundId& round) = 0;
  virtual absl::Status FindMark(const v1alpha1::RoundId& round) = 0;
  // Sets how many complete checkpoints are kept from the next save on.
  virtual void SetKeep(int keep) = 0;
  // The checkpoints of the directory that are complete.
  struct Listing {
    // The newest comes first; `mismatch` says why one is unusable.
    std::vector<v1alpha1::CheckpointRef> complete;
    std::string error;  // why some could not be read; empty if all were
  };
  virtual Listing List(const TrainingState& state) = 0;
  // The run goes on from `state` in `round`: moves checkpoints of other histories, and those of
  // this history beyond `state`, out of the way. Called by the first rank, before its first step.
  virtual absl::Status SetAside(const TrainingState& state, const v1alpha1::RoundId& round) = 0;
  // Returns the newest version that is surely durable: this process saved it as the first rank, or
  // loaded it.
  virtual std::optional<v1alpha1::Version> Durable() = 0;
  // Announces saves of such a share: memory for the copy is made ready in the background.
  virtual void Expect(const TrainingState& state, const CheckpointWriterId& writer) = 0;
  // Copies this writer's share of the state and writes it in the background. Unavailable while an
  // earlier share is still being written; never waits for that. If the state announces its changes
  // (OnChange), the copy, too, is taken in the background until FinishCopy() has returned; else
  // Save returns after it.
  virtual absl::Status Save(const TrainingState& state, const CheckpointWriterId& writer) = 0;
  // Call before the state changes: it may be copied until this returns.
  virtual void FinishCopy() = 0;
  // Returns the checkpoint that is being written; nullopt if there is none.
  virtual std::optional<SaveUnderway> Underway() = 0;
  // Returns true if nothing is being written, now or within `timeout`.
  virtual bool WaitIdle(absl::Duration timeout) = 0;
  // Gives up the checkpoint being written: its round is over and not all shares will come.
  virtual void Abandon() = 0;
  // Returns whether the state, whose version is that of the checkpoint, holds exactly what the
  // checkpoint has of it; an error if that cannot be known, as of a damaged one.
  virtual absl::StatusOr<bool> Holds(const v1alpha1::CheckpointRef& checkpoint,
                                     const TrainingState& state) = 0;
  // Call when `round`, in which the applied version was made, is over and no other will come: the
  // ranks that are left save that version without a communicator, one of them each shard of it.
  // Returns true for the rank that is to Save() the shard that this one holds.
  virtual absl::StatusOr<bool> TakeShard(const TrainingState& state,
                                         const v1alpha1::RoundId& round) = 0;
  // Returns true if the applied version is complete on disk, whoever of the round has written it.
  virtual bool IsComplete(const TrainingState& state, const v1alpha1::RoundId& round) = 0;
  // Fills the state's memory and returns the version that it then holds. DataLoss if the checkpoint
  // is damaged for good, FailedPrecondition if it is whole but of another model; after any other
  // error the checkpoint may still be good.
  virtual absl::StatusOr<v1alpha1::Version> Load(const v1alpha1::CheckpointRef& checkpoint,
                                                 TrainingState& state) = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_CHECKPOINTS_H_
