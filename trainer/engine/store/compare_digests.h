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
// values of every unit, the version and the counts are equal everywhere, and the optimizer's state
// on ranks of one shard; what a tensor axis divides, on ranks of one part of the model. The ranks
// that are wrong (trainer/commit/judge_item.h) give up their weights and receive in the next round:
// DataLoss. `witnesses` says of each rank whether it has its state of its own. `prove` is called
// where there is no majority; it says what the checkpoint of this version says of this rank.
// FailedPrecondition if nothing tells who is right: every rank then keeps what it has.
absl::Status CompareDigests(const v1alpha1::Version& version, std::vector<bool> witnesses,
                            const MeshShape& mesh, Communicator& world, TrainingState& state,
                            absl::FunctionRef<Proof()> prove);

// The same for ranks that have just come to this resume point.
absl::Status CompareDigests(const v1alpha1::ResumePoint& resume, const MeshShape& mesh,
                            Communicator& world, TrainingState& state,
                            absl::FunctionRef<Proof()> prove);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_COMPARE_DIGESTS_H_
