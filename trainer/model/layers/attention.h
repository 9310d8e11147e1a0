#ifndef MUSTER_TRAINER_MODEL_LAYERS_ATTENTION_H_
#define MUSTER_TRAINER_MODEL_LAYERS_ATTENTION_H_

#include "ATen/core/Tensor.h"
#include "trainer/model/block.h"
#include "trainer/model/layers/dropout.h"

namespace muster::trainer {

// The inputs of attention, each [batch, heads, sequence, head width]. Keys and values may have
// fewer heads than queries, which then share them in equal runs (grouped-query attention).
struct AttentionInputs {
  at::Tensor queries;
  at::Tensor keys;
  at::Tensor values;
  // [1, heads, sequence, sequence], added to the scores: it also hides the future, and needs no
  // gradient. If undefined, attention is causal and otherwise unbiased.
  at::Tensor bias;
};

// Computes causal attention with scores divided by the root of the head width, and returns
// [batch * sequence, heads * head width].
at::Tensor Attend(const AttentionInputs& inputs, const DropoutPlace& dropout,
                  const MicroBatchContext& context);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_ATTENTION_H_
