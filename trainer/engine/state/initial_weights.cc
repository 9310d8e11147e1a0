#include "trainer/engine/state/initial_weights.h"

#include "absl/cleanup/cleanup.h"
#include "base/status_macros.h"

namespace muster::trainer {

absl::Status LoadInitialWeights(InitialWeights& weights, TrainingState& state) {
  const absl::Cleanup close = [&weights] { weights.Close(); };
  MUSTER_RETURN_IF_ERROR(weights.Open());
  for (const TensorPart& part : state.ValueParts()) {
    if (part.elements.numel() == 0) continue;
    MUSTER_RETURN_IF_ERROR(state.FillPart(part, [&](const at::Tensor& elements) {
      return weights.Fill(part.name, part.shape, part.begin, elements);
    }));
  }
  state.EndFill();
  return absl::OkStatus();
}

}  // namespace muster::trainer
