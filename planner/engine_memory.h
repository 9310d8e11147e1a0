#ifndef MUSTER_PLANNER_ENGINE_MEMORY_H_
#define MUSTER_PLANNER_ENGINE_MEMORY_H_

#include "planner/engine.h"
#include "planner/step_time.h"

namespace muster::planner {

// The memory of programs other than muster's, whose own is in memory.h, so that what a plan of
// theirs needs can be compared with what they published. Pure arithmetic, thread-safe. In bytes.

// Returns what the layers of the first stage keep for the backward pass at the time when they keep
// most, in 16-bit numbers and masks of a byte, without the embedding and the head: Korthikanti et
// al. (arXiv 2205.05198), equations 1 to 4, and section 4.2.3 for stages and their chunks. Requires
// a shape whose feed-forward width is four widths.
double KeptActivations(const Work& work, const Layout& layout);

// Returns the weights, gradients and optimizer's state of a rank, the mean over all ranks: the
// engine's whole_bytes for each parameter, and its divided_bytes divided among copies.
double MeanState(const Work& work, const Layout& layout, const Engine& engine);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_ENGINE_MEMORY_H_
