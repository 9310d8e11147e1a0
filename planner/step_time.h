#ifndef MUSTER_PLANNER_STEP_TIME_H_
#define MUSTER_PLANNER_STEP_TIME_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "planner/devices.h"
#include "planner/engine.h"
#include "planner/memory.h"
#include "planner/model_shape.h"

namespace muster::planner {

// The time of a training step, by cause. Pure arithmetic, thread-safe. docs/planner.md lists the
// formulas with their sources and how far they are from measured steps. All times are in seconds.

enum class PipelineSchedule { kOneForwardOneBackward, kZeroBubble, kInterleaved, kZeroBubbleV };
// Returns the name in a manifest.
absl::string_view Name(PipelineSchedule schedule);

// The part of the forward pass that is computed again before the backward pass: with kFull that of
// whole blocks, with kSelective only attention's scores (arXiv 2205.05198, section 5), which
// muster's trainer does not offer.
enum class Recompute { kNone, kSelective, kFull };

// The work of a step, however it is divided.
struct Work {
  ModelShape shape;  // complete
  Precision precision = Precision::kBf16;
  int64_t sequence = 0;      // tokens
  int64_t global_batch = 0;  // sequences
};

// How ranks divide the work of a step. All numbers except `zero` are at least 1.
struct Layout {
  int32_t data = 1;  // copies of the state
  int32_t shard = 1;
  int32_t tensor = 1;
  int32_t pipeline = 1;
  int32_t context = 1;
  bool ring = false;
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  int32_t chunks = 1;
  int32_t micro_batch = 1;  // sequences
  int32_t zero = 0;
  Recompute recompute = Recompute::kNone;
  // With kFull, one block in this many is computed again.
  int32_t recompute_every = 1;
  // Between matrix products, each rank of the tensor axis has a part of the sequence.
  bool sequence_parallel = true;
  // The optimizer's state rests in files.
  bool offload = false;

  int64_t ranks() const { return int64_t{data} * shard * tensor * pipeline * context; }
  // The groups of ranks that each work on micro-batches of their own.
  int64_t workers() const { return int64_t{data} * shard; }

  bool operator==(const Layout&) const = default;
};

// The seconds of a step on the rank that takes longest.
struct StepTime {
  double products = 0;   // matrix products of blocks, forward and backward
  double attention = 0;  // attention's scores
  double passes = 0;     // norms, activations, dropout, residuals: memory's bandwidth decides
  double recompute = 0;  // forward passes computed again
  double head = 0;       // logits and loss, and the embedding
  double host = 0;       // the device waits for the host that starts its operations
  double tensor = 0;     // exchange along the tensor axis
  double context = 0;    // exchange along the context axis
  double messages = 0;   // exchange between stages
  double data = 0;       // gradients and weights between ranks with the same part of the model
  double bubble = 0;  // stages wait for others, at the ends of a step and for the costliest stage
  double optimizer = 0;
  double fixed = 0;

  double Total() const {
    return products + attention + passes + recompute + head + host + tensor + context + messages +
           data + bubble + optimizer + fixed;
  }
};

// Requires a valid division, and a device that has the precision. If workers times micro-batch do
// not divide the global batch, the rest makes up the last micro-batches of some ranks.
StepTime EstimateStep(const Work& work, const Layout& layout, const Device& device,
                      const Wiring& wiring, const Engine& engine);

// Returns the multiplications and additions of a step, each counted as one, without recomputation.
// Each token takes 6 for each parameter of a matrix, and 12 x layers x width x sequence for
// attention's scores (Chowdhery et al., 2022, appendix B).
double ModelOperations(const Work& work);

// Returns the number of micro-batches on the rank that has the most.
int64_t MicroBatches(const Work& work, const Layout& layout);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_STEP_TIME_H_
