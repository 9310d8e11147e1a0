#include "planner/engine_memory.h"

namespace muster::planner {

double KeptActivations(const Work& work, const Layout& layout) {
  const ModelShape& shape = work.shape;
  const double t = layout.tensor, p = layout.pipeline;
  const double tokens = static_cast<double>(layout.micro_batch) * work.sequence / layout.context;
  const double once = tokens * shape.width;  // s b h
  // A layer keeps 34 bytes for each number. Norms' inputs and dropout's masks are 10 of these,
  // which the tensor axis does not divide unless it divides the sequence.
  const double whole = layout.sequence_parallel ? 10 / t : 10;
  const double scores = layout.recompute == Recompute::kNone
                            ? 5.0 * shape.heads * work.sequence / (shape.width * t)
                            : 0;
  const double of_layer = layout.recompute == Recompute::kFull
                              ? 2 * once / (layout.sequence_parallel ? t : 1)
                              : once * (whole + 24 / t + scores);
  // The first stage keeps p micro-batches of its layers, and more with several chunks.
  const double chunks = layout.chunks > 1 ? 1 + (p - 1) / (p * layout.chunks) : 1;
  return of_layer * shape.layers * chunks;
}

double MeanState(const Work& work, const Layout& layout, const Engine& engine) {
  const double parameters = static_cast<double>(ParameterCount(work.shape)) /
                            (static_cast<double>(layout.tensor) * layout.pipeline);
  const double copies = static_cast<double>(layout.workers());
  return parameters * (engine.whole_bytes + engine.divided_bytes / copies);
}

}  // namespace muster::planner
