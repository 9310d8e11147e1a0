#ifndef MUSTER_PLANNER_MEMORY_H_
#define MUSTER_PLANNER_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "planner/activations.h"
#include "planner/logits_rows.h"
#include "planner/model_shape.h"

namespace muster::planner {

// The memory that a rank needs, in bytes. Pure arithmetic, thread-safe.

enum class Precision { kFp32, kBf16, kFp16, kFp8, kFp64 };
enum class OptimizerKind { kAdamW, kLamb, kLion, kMuon, kSgd, kSgdMomentum };
absl::StatusOr<Precision> ParsePrecision(absl::string_view name);
// `momentum` distinguishes plain SGD, which keeps no state, from SGD with a momentum buffer.
absl::StatusOr<OptimizerKind> ParseOptimizer(absl::string_view name, double momentum);

// The peak memory of one rank, an estimate that should not be too low. EstimateMemory() returns
// that of a rank that holds the whole state of its part of the model; DivideMemory() applies ZeRO.
struct MemoryEstimate {
  int64_t parameters = 0;
  // Copies of the weights in the type of matrix products, if that differs from the weights' type.
  // FP8 needs two copies, one by rows and one by columns, which together are as large as one in
  // BF16.
  int64_t casts = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  // The memory in which an optimizer prepares an update. For Muon it is one number for each element
  // of matrices that the rank holds, and eight matrices of the largest size, which it turns as a
  // whole.
  int64_t update = 0;
  // The tensors that the rank's layers save for the backward pass, of one micro-batch, or, in a
  // pipeline, of all that the first stage keeps at once: as many micro-batches as there are stages,
  // or (chunks + 1) * stages - 1 passes through a chunk. Includes biases and buffers of attention.
  int64_t activations = 0;
  // A chunk of a micro-batch's logits, and the gradients that are computed along with it.
  int64_t logits = 0;
  // The copy that a checkpoint is written from.
  int64_t checkpoint_copy = 0;
  // Program, libraries and buffers, independent of the model.
  int64_t fixed = 0;

  int64_t Total() const {
    return parameters + casts + gradients + optimizer + update + activations + logits +
           checkpoint_copy + fixed;
  }
};

// How ranks divide the work on one micro-batch. All numbers are at least 1.
struct WorkDivision {
  // The number of ranks that divide every matrix, the heads and, between matrix products, the
  // sequence.
  int32_t tensor = 1;
  // The number of stages of the pipeline. An estimate counts a stage's share of the blocks, one
  // embedding (the head is as large), and the activations of the first stage, which keeps the most.
  int32_t stages = 1;
  // The number of runs of blocks that each stage has (schedule Interleaved).
  int32_t chunks = 1;
  // The first stage has the last blocks, too (schedule ZeroBubbleV).
  bool folded = false;
  // The number of ranks that divide the sequence.
  int32_t context = 1;
  // The context ranks pass keys and values around a ring. Otherwise they exchange heads.
  bool ring = false;
  // All that one block saves is counted once for those that are computed again: it is there while
  // the block's backward pass runs.
  ActivationOptions activations = {};
};

MemoryEstimate EstimateMemory(const ModelShape& shape, Precision precision, int32_t micro_batch,
                              int32_t sequence, OptimizerKind optimizer,
                              LogitsPlace place = LogitsPlace::kCpu,
                              const WorkDivision& division = {});

// Returns the bytes that attention with dropout keeps for the backward pass of each of its scores:
// the probability, its mask, and what is left of it in the type of products.
int64_t DropoutBytesPerScore(Precision precision);

// Returns the part of EstimateMemory() that follows from the number of parameters alone: all but
// activations and logits. `matrix` is the number of elements of the model's largest matrix.
MemoryEstimate EstimateState(int64_t parameters, Precision precision, OptimizerKind optimizer,
                             int64_t matrix = 0);

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
  int64_t matrix = 0;  // of the largest matrix of a block, as a whole
};
UnitSizes UnitSizesOf(const ModelShape& shape, const WorkDivision& division = {});

// Returns the memory of one of `shards` ranks that divide the state. `zero` is the stage of ZeRO,
// from 0 to 3 (Rajbhandari et al., 2020). `whole` is the memory of a rank that holds all of the
// state. A rank that divides gradients or values also holds whole ones, for the blocks that it is
// working on. Offloaded state is in memory only for the units in use, but the copy for a checkpoint
// contains all of it. Requires units.parameters > 0 and shards >= 1.
MemoryEstimate DivideMemory(const MemoryEstimate& whole, const UnitSizes& units, int zero,
                            int shards, const OffloadedParts& offloaded = {});

// Returns EstimateMemory(...).Total().
int64_t MemoryBytes(const ModelShape& shape, Precision precision, int32_t micro_batch,
                    int32_t sequence, OptimizerKind optimizer);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_MEMORY_H_
