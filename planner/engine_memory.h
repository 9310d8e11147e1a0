#ifndef MUSTER_PLANNER_ENGINE_MEMORY_H_
#define MUSTER_PLANNER_ENGINE_MEMORY_H_

#include "planner/engine.h"
#include "planner/step_time.h"

namespace muster::planner {

// The memory of other training programs, so that it can be compared with what they published;
// muster's own is in memory.h. Pure arithmetic, thread-safe. In bytes.

// Returns the most that the layers of the first stage keep at once for the backward pass, in 16-bit
// numbers and masks of a byte, without the embedding and the head: Korthikanti et al. (arXiv
// 2205.05198), equations 1 to 4, and section 4.2.3 for stages and their chunks. Requires a shape
// whose feed-forward width is four times its width.
double KeptActivations(const Work& work, const Layout& layout);

// Returns the bytes of a rank's weights, gradients and optimizer's state, as the mean over all
// ranks: the engine's whole_bytes for each parameter, and its divided_bytes divided among copies.
double MeanState(const Work& work, const Layout& layout, const Engine& engine);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_ENGINE_MEMORY_H_
