#ifndef MUSTER_TRAINER_ENGINE_STORE_REJOIN_H_
#define MUSTER_TRAINER_ENGINE_STORE_REJOIN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/state/training_state.h"

namespace muster::trainer {

// The steps by which the ranks of a new round come to hold one version. A failure loses only state
// that was being replaced.

// Returns what a rank holds of a copy of the state in rounds of this layout.
CopyPlace PlaceOf(const MeshShape& mesh, int rank);

// A slice of the state that is stored where this rank can read it. It may be of another part of the
// model than this rank's.
class StoredSlice {
 public:
  virtual ~StoredSlice() = default;
  // Fills `into`, which is on the host, with elements of the flat tensor of this name, from `begin`
  // on; the slice has `elements` of it.
  virtual absl::Status Read(const std::string& name, int64_t elements, int64_t begin,
                            const at::Tensor& into) = 0;
};
// By the place in ResumePoint.replicas; null for those that other ranks read.
using StoredSlices = std::vector<std::unique_ptr<StoredSlice>>;

// Gives every rank its shard of its part of the model in the new layout, if the round resumes LIVE
// or from copies that are loaded. A rank receives what it lacks from ranks that hold it, or have it
// in `stored`; several of them send at once. A rank keeps what it had until it has all of its new
// shard, so a transfer that breaks off costs only ranks that held nothing. Called by all ranks;
// after an error `world` is aborted.
//
// Returns the bytes that this rank received from the memory of other ranks. Bytes from their
// `stored` slices are not counted, because the ranks that read them count them.
absl::StatusOr<int64_t> TransferState(const v1alpha1::ResumePoint& resume, const MeshShape& mesh,
                                      Communicator& world, TrainingState& state,
                                      const StoredSlices& stored = {});

// All-gathers the values of all units among the ranks of `group`, which together hold one copy of
// the state. May be repeated. Divided values stay whole until Unit::ReleaseValues().
absl::Status GatherValues(Communicator& group, TrainingState& state);

// Called by all ranks. Fails unless all train by the spec with this hash.
absl::Status CompareSpecs(uint64_t trajectory, Communicator& communicator);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_REJOIN_H_
