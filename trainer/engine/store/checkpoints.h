#ifndef MUSTER_TRAINER_ENGINE_STORE_CHECKPOINTS_H_
#define MUSTER_TRAINER_ENGINE_STORE_CHECKPOINTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/files/storage_trouble.h"
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
  int context = 1;  // of the round's layout
  bool after_round = false;
};

// A checkpoint that this rank is still writing, or for which the first rank still waits for the
// other ranks' shares.
struct SaveUnderway {
  int64_t step = 0;
  absl::Duration lasts;                                  // since it began
  std::optional<StorageTrouble> trouble = std::nullopt;  // if the storage reports any
};

// The seam between the trainer and its checkpoint directory. Called from the engine's thread; long
// work runs in the background, which reports STARTED, WRITTEN and FAILED by itself.
class Checkpoints {
 public:
  virtual ~Checkpoints() = default;
  // Claims the directory for this job. AlreadyExists if another job owns it; FailedPrecondition or
  // PermissionDenied if no rank can save there. After any other error the next save tries again.
  virtual absl::Status Claim() = 0;
  // Returns OK if the directory can be written now, FailedPrecondition or PermissionDenied if it
  // cannot, and another error if that is not known.
  virtual absl::Status CheckWritable() = 0;
  // WriteMark() marks the directory for this round, and FindMark() looks for that mark: NotFound,
  // perhaps only for a while, if this rank's directory has the same path as the writer's but is
  // another one.
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
  // Moves checkpoints of other histories, and those of this history beyond `state`, out of the way
  // of a run that goes on from `state` in `round`. Called by the first rank, before its first step.
  virtual absl::Status SetAside(const TrainingState& state, const v1alpha1::RoundId& round) = 0;
  // Returns the newest version that is surely durable: this process saved it as the first rank,
  // loaded it, or found it complete (IsComplete).
  virtual std::optional<v1alpha1::Version> Durable() = 0;
  // Announces saves of this writer's share, so that memory for the copy is prepared in the
  // background.
  virtual void Expect(const TrainingState& state, const CheckpointWriterId& writer) = 0;
  // Copies this writer's share of the state and writes it in the background. Returns Unavailable,
  // without waiting, while an earlier share is still being written. If the state announces its
  // changes (OnChange) and lies in the host's memory, the copy is taken in the background, too,
  // until FinishCopy() returns; else Save() returns after the copy.
  virtual absl::Status Save(const TrainingState& state, const CheckpointWriterId& writer) = 0;
  // Call before the state changes. Returns when the copy is complete.
  virtual void FinishCopy() = 0;
  // Returns the checkpoint that is being written; nullopt without one.
  virtual std::optional<SaveUnderway> Underway() = 0;
  // Waits for at most `timeout` until nothing is being written; returns false if something still
  // is.
  virtual bool WaitIdle(absl::Duration timeout) = 0;
  // Gives up the checkpoint being written, because its round is over and missing shares will not
  // arrive.
  virtual void Abandon() = 0;
  // Returns true if the state equals the checkpoint, which is of the same version, in every byte
  // that this rank holds; an error if that cannot be known, as with a damaged checkpoint.
  virtual absl::StatusOr<bool> Holds(const v1alpha1::CheckpointRef& checkpoint,
                                     const TrainingState& state) = 0;
  // Call when `round`, which made the applied version, is over and no other round will come. The
  // remaining ranks then save that version without a communicator, each shard by one of the ranks
  // that hold it. Returns true if this rank is the one that must Save() its shard.
  virtual absl::StatusOr<bool> TakeShard(const TrainingState& state,
                                         const v1alpha1::RoundId& round) = 0;
  // Returns true if the applied version is complete on disk, saved by `round` or by the ranks that
  // remained after it.
  virtual bool IsComplete(const TrainingState& state, const v1alpha1::RoundId& round) = 0;
  // Fills the state's memory and returns the version that it then holds. DataLoss if the checkpoint
  // is damaged for good, FailedPrecondition if it is whole but of another model; after any other
  // error the checkpoint may still be good.
  virtual absl::StatusOr<v1alpha1::Version> Load(const v1alpha1::CheckpointRef& checkpoint,
                                                 TrainingState& state) = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_CHECKPOINTS_H_
