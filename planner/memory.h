#ifndef MUSTER_PLANNER_MEMORY_H_
#define MUSTER_PLANNER_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "planner/logits_rows.h"
#include "planner/model_shape.h"

namespace muster::planner {

// The memory that a rank needs, in bytes. Pure arithmetic, thread-safe.

enum class Precision { kFp32, kBf16, kFp8, kFp64 };
enum class OptimizerKind { kAdamW, kLion, kSgd, kSgdMomentum };
absl::StatusOr<Precision> ParsePrecision(absl::string_view name);
// `momentum` distinguishes plain SGD, which keeps no state, from SGD with a momentum buffer.
absl::StatusOr<OptimizerKind> ParseOptimizer(absl::string_view name, double momentum);

// The peak memory of one rank with plain data parallelism, an estimate that errs on the high side.
struct MemoryEstimate {
  int64_t parameters = 0;
  // Copies of the weights in the type of products, if that is another. FP8 has two, row after row
  // and column after column, in the room of one in BF16.
  int64_t casts = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  // Activations of one micro-batch that all layers save for the backward pass.
  int64_t activations = 0;
  // A chunk of a micro-batch's logits, and the gradients that are computed along with it.
  int64_t logits = 0;
  // The copy that a checkpoint is written from.
  int64_t checkpoint_copy = 0;
  // Program, libraries and buffers, independent of the model.
  int64_t fixed = 0;

  int64_t Total() const {
    return parameters + casts + gradients + optimizer + activations + logits + checkpoint_copy +
           fixed;
  }
};

// How ranks divide the work on one micro-batch.
struct WorkDivision {
  // The ranks that each have a part of every matrix, of the heads and, between products, of the
  // sequence.
  int32_t tensor = 1;
  // The stages of a pipeline. Estimates are those of the first one: of a stage's share of the
  // blocks, and of the embedding and the head the larger.
  int32_t stages = 1;
  // The ranks that each have a part of the sequence. They exchange it for heads of attention, or
  // keys and values in a ring.
  int32_t context = 1;
  bool ring = false;
};

MemoryEstimate EstimateMemory(const ModelShape& shape, Precision precision, int32_t micro_batch,
                              int32_t sequence, OptimizerKind optimizer,
                              LogitsPlace place = LogitsPlace::kCpu,
                              const WorkDivision& division = {});

// Returns the bytes that attention with dropout keeps for the backward pass of each of its scores:
// the probability, its mask, and what is left of it in the type of products.
int64_t DropoutBytesPerScore(Precision precision);

// Returns the part of EstimateMemory() that follows from the number of parameters alone: all but
// activations and logits.
MemoryEstimate EstimateState(int64_t parameters, Precision precision, OptimizerKind optimizer);

// The parts of a rank's state that rest in files while they are not in use. Weights need stage 3.
struct OffloadedParts {
  bool optimizer = false;
  bool weights = false;
};

// The parameters of a model, and those of the units that hold them.
struct UnitSizes {
  int64_t parameters = 0;
  int64_t embedding = 0;  // in use from the first block to the last where the head shares it
  int64_t block = 0;      // of the block with most
  int64_t blocks = 0;
};
UnitSizes UnitSizesOf(const ModelShape& shape, const WorkDivision& division = {});

// Returns the memory of one of `shards` ranks that divide the state as a stage of ZeRO says
// (Rajbhandari et al., 2020), from `whole`, that of a rank which holds it all. Of divided gradients
// and values the rank also has those of the blocks that are in use as a whole. What it offloads is
// in memory for the units in use only; the copy that a checkpoint is written from has all of it.
MemoryEstimate DivideMemory(const MemoryEstimate& whole, const UnitSizes& units, int zero,
                            int shards, const OffloadedParts& offloaded = {});

// Returns EstimateMemory(...).Total().
int64_t MemoryBytes(const ModelShape& shape, Precision precision, int32_t micro_batch,
                    int32_t sequence, OptimizerKind optimizer);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_MEMORY_H_
