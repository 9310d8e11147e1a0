#ifndef MUSTER_TRAINER_ENGINE_STATE_INITIAL_WEIGHTS_H_
#define MUSTER_TRAINER_ENGINE_STATE_INITIAL_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "trainer/engine/state/training_state.h"

namespace muster::trainer {

// The seam to weights that a run begins with in place of random ones. A run that goes on from a
// checkpoint, or from other ranks, does not need them. Not thread-safe.
class InitialWeights {
 public:
  virtual ~InitialWeights() = default;

  // Returns the field of the job that names them.
  virtual const char* field() const = 0;
  // Finds the weights and checks that they are the model's. Called before Fill.
  virtual absl::Status Open() = 0;
  // Fills `elements`, which is flat and contiguous, with the elements from `begin` on of the
  // parameter `name`, which has `shape` as a whole. If it fails, some of them may be written.
  virtual absl::Status Fill(const std::string& name, const std::vector<int64_t>& shape,
                            int64_t begin, at::Tensor elements) = 0;
  // Frees what Open() has read. Called after the last Fill, and when one has failed.
  virtual void Close() {}
};

// Opens the weights and replaces what this rank holds of every parameter. The rest of the state
// stays as it is.
absl::Status LoadInitialWeights(InitialWeights& weights, TrainingState& state);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STATE_INITIAL_WEIGHTS_H_
