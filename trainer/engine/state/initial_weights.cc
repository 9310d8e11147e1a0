#include "trainer/engine/state/initial_weights.h"

#include <algorithm>
#include <vector>

#include "ATen/ops/empty.h"
#include "absl/cleanup/cleanup.h"
#include "base/status_macros.h"
#include "trainer/model/partition.h"
#include "trainer/random/element_run.h"

namespace muster::trainer {

namespace {

// Fills a run of the elements that this rank's part of the model has of a tensor. The weights are
// read in windows of the whole tensor, from which the part's runs are taken.
absl::Status FillFromWhole(InitialWeights& weights, const TensorPart& part,
                           const at::Tensor& elements) {
  constexpr int64_t kWindow = int64_t{1} << 22;
  const std::vector<ElementRun> runs = RunsOfPart(part.shape, part.partition, part.part);
  const int64_t end = part.begin + elements.numel();
  at::Tensor window;
  int64_t window_begin = 0, element = 0;  // of the whole tensor; of the part
  for (const ElementRun& run : runs) {
    for (int64_t at = std::max(int64_t{0}, part.begin - element);
         at < std::min(run.count, end - element);) {
      const int64_t place = run.begin + at;
      if (!window.defined() || place >= window_begin + window.numel()) {
        const int64_t last = runs.back().begin + runs.back().count;
        window = at::empty({std::min(kWindow, last - place)}, elements.options());
        window_begin = place;
        MUSTER_RETURN_IF_ERROR(weights.Fill(part.name, part.shape, place, window));
      }
      const int64_t count =
          std::min({run.count - at, end - element - at, window_begin + window.numel() - place});
      elements.narrow(0, element + at - part.begin, count)
          .copy_(window.narrow(0, place - window_begin, count));
      at += count;
    }
    element += run.count;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadInitialWeights(InitialWeights& weights, TrainingState& state) {
  const absl::Cleanup close = [&weights] { weights.Close(); };
  MUSTER_RETURN_IF_ERROR(weights.Open());
  for (const TensorPart& part : state.ValueParts()) {
    if (part.elements.numel() == 0) continue;
    MUSTER_RETURN_IF_ERROR(state.FillPart(part, [&](const at::Tensor& elements) {
      return part.is_part() ? FillFromWhole(weights, part, elements)
                            : weights.Fill(part.name, part.shape, part.begin, elements);
    }));
  }
  state.EndFill();
  return absl::OkStatus();
}

}  // namespace muster::trainer
