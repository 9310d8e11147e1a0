#ifndef MUSTER_TRAINER_ENGINE_STORE_COMPARE_DIGESTS_H_
#define MUSTER_TRAINER_ENGINE_STORE_COMPARE_DIGESTS_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/commit/judge_item.h"
#include "trainer/engine/state/training_state.h"

namespace muster::trainer {

// Called by all ranks of a round that hold this version, with all values gathered. Fails unless the
// version, the counts and the values of every unit are equal on all ranks, and the optimizer's
// state on ranks of one shard. Whatever a tensor axis divides need only be equal on ranks of one
// part of the model.
//
// `witnesses` says for each rank whether its state is its own, not received from others. `prove` is
// called if there is no majority, and returns what the checkpoint of this version says about this
// rank.
//
// DataLoss if it is known which ranks are wrong (trainer/commit/judge_item.h): these give up their
// weights and receive them in the next round. FailedPrecondition if nothing tells who is right:
// every rank then keeps what it has.
absl::Status CompareDigests(const v1alpha1::Version& version, std::vector<bool> witnesses,
                            const MeshShape& mesh, Communicator& world, TrainingState& state,
                            absl::FunctionRef<Proof()> prove);

// Does the same for ranks that have just reached this resume point, which names the witnesses.
absl::Status CompareDigests(const v1alpha1::ResumePoint& resume, const MeshShape& mesh,
                            Communicator& world, TrainingState& state,
                            absl::FunctionRef<Proof()> prove);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_COMPARE_DIGESTS_H_
