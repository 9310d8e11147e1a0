#ifndef MUSTER_TRAINER_MODEL_LAYERS_DROPOUT_H_
#define MUSTER_TRAINER_MODEL_LAYERS_DROPOUT_H_

#include <cstdint>
#include <span>

#include "ATen/core/Tensor.h"
#include "trainer/model/block.h"
#include "trainer/random/element_run.h"

namespace muster::trainer {

// The places of a model that drop activations; the numbers are part of what the masks are drawn
// from, so they never change.
enum class DropoutSite : int32_t { kEmbedding = 0, kAttention = 1, kProjection = 2, kMlp = 3 };

// One dropout of a model. `layer` is 0 for the embedding, 1 for the first transformer block.
struct DropoutPlace {
  double probability = 0;
  int32_t layer = 0;
  DropoutSite site = DropoutSite::kEmbedding;
};

// Returns true if anything is dropped.
bool Drops(double probability, const MicroBatchContext& context);

// Returns the mask that FillDropout draws, to multiply x with: its first dimension are the samples.
// Of each sample x has the elements `runs`; ranks that divide a sample draw the mask of the whole.
at::Tensor DropoutMask(const at::Tensor& x, std::span<const ElementRun> runs,
                       const DropoutPlace& place, const MicroBatchContext& context);

// Multiplies x [batch, sequence, width] by a mask. The sequence is the run of this rank.
at::Tensor Dropout(const at::Tensor& x, const DropoutPlace& place,
                   const MicroBatchContext& context);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_DROPOUT_H_
