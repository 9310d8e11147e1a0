#ifndef MUSTER_TRAINER_MODEL_LAYERS_ATTENTION_H_
#define MUSTER_TRAINER_MODEL_LAYERS_ATTENTION_H_

#include <cstdint>

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
  // gradient. It is of BiasType(). If undefined, attention is causal and otherwise unbiased.
  at::Tensor bias;
};

// Returns the type of a bias beside these queries: that of the scores, which is wider than theirs,
// but theirs on a GPU, whose kernels take a bias for numbers of that type whatever it is.
c10::ScalarType BiasType(const at::Tensor& queries);

// How the product that makes queries, keys and values leaves them in its rows.
enum class HeadOrder {
  kByPart,  // all queries, then all keys, then all values: GPT-2
  kByHead,  // query, key and value of a head, then those of the next: BLOOM
};

// Returns views of the queries, keys and values in `packed` [batch * sequence, 3 * heads * head
// width], without a bias.
AttentionInputs SplitHeads(const at::Tensor& packed, int64_t batch, int64_t heads, HeadOrder order);

// Computes causal attention with scores divided by the root of the head width, and returns
// [batch * sequence, heads * head width].
at::Tensor Attend(const AttentionInputs& inputs, const DropoutPlace& dropout,
                  const MicroBatchContext& context);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_ATTENTION_H_
