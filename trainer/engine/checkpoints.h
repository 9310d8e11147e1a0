#ifndef MUSTER_TRAINER_ENGINE_CHECKPOINTS_H_
#define MUSTER_TRAINER_ENGINE_CHECKPOINTS_H_

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
  // Complete checkpoints this process can see, newest first, at most 16.
  virtual std::vector<v1alpha1::CheckpointRef> List() = 0;
  // Saves of such a share will come: what they need is made ready in the background.
  virtual void Expect(const TrainingState& state, const SaveShare& writer) = 0;
  // Copies this writer's share of the state and writes it in the background; returns after the
  // copy. Waits for an earlier one that is still being written.
  virtual absl::Status Save(const TrainingState& state, const SaveShare& writer) = 0;
  // Whether nothing is being written, now or within `timeout`.
  virtual bool WaitIdle(absl::Duration timeout) = 0;
  // Gives up what is being written: its round is over and not all shares will come.
  virtual void Abandon() = 0;
  // Fills the state's memory and returns the version it is then. NotFound or
  // DataLoss when it cannot be used, FailedPrecondition when it is whole but of another model.
  virtual absl::StatusOr<v1alpha1::Version> Load(const v1alpha1::CheckpointRef& checkpoint,
                                                 TrainingState& state) = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_CHECKPOINTS_H_
