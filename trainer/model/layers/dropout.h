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

// Returns true if the context is for training and the probability is above 0.
bool Drops(double probability, const MicroBatchContext& context);

// Returns a mask to multiply x with, of the shape of x: 0 where an element is dropped, else about
// 1 / (1 - probability) (FillDropout). It is FP64 if x is FP64, else FP32. The first dimension of x
// has one entry for each of context.samples. `runs` are the elements of a sample that x has,
// numbered within the whole sample. So ranks that divide a sample draw the bits of one rank.
at::Tensor DropoutMask(const at::Tensor& x, std::span<const ElementRun> runs,
                       const DropoutPlace& place, const MicroBatchContext& context);

// Returns x [batch, run, width] times its mask, or x if nothing is dropped. `run` are this rank's
// tokens between blocks (RowsOf).
at::Tensor Dropout(const at::Tensor& x, const DropoutPlace& place,
                   const MicroBatchContext& context);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_DROPOUT_H_
