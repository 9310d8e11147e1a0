#include "trainer/engine/initial_weights.h"

#include "base/status_macros.h"

namespace muster::trainer {

absl::Status LoadInitialWeights(InitialWeights& weights, TrainingState& state) {
  MUSTER_RETURN_IF_ERROR(weights.Open());
  for (const NamedTensor& parameter : state.Parameters()) {
    const at::Tensor& whole = parameter.tensor;
    MUSTER_RETURN_IF_ERROR(
        weights.Fill(parameter.name, whole.sizes().vec(), /*begin=*/0, whole.view({-1})));
  }
  return absl::OkStatus();
}

}  // namespace muster::trainer
