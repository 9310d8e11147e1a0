#ifndef MUSTER_TRAINER_ENGINE_REJOIN_H_
#define MUSTER_TRAINER_ENGINE_REJOIN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/comm/communicator.h"
#include "trainer/engine/training_state.h"

namespace muster::trainer {

// The steps by which the ranks of a new round come to hold one version. A failure loses only state
// that was being replaced.

// Resuming LIVE, the donor sends parameters and optimizer state to every receiver, rank to rank, so
// that a transfer that breaks off costs only receivers their state.
absl::Status TransferState(const v1alpha1::ResumePoint& resume, Communicator& communicator,
                           TrainingState& state);

// Called by all ranks. Fails unless all train by the spec with this hash.
absl::Status CompareSpecs(uint64_t trajectory, Communicator& communicator);

// Called by all ranks. Fails unless every replicated unit and its version are equal everywhere. A
// rank that differs from `reference` gives up its weights, so that it receives in the next round.
absl::Status CompareDigests(int reference, Communicator& communicator, TrainingState& state);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_REJOIN_H_
