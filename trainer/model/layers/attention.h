#ifndef MUSTER_TRAINER_MODEL_LAYERS_ATTENTION_H_
#define MUSTER_TRAINER_MODEL_LAYERS_ATTENTION_H_

#include <cstdint>

#include "ATen/core/Tensor.h"
#include "trainer/model/block.h"
#include "trainer/model/layers/dropout.h"
#include "trainer/model/layers/ring_attention.h"

namespace muster::trainer {

// How the product that makes queries, keys and values leaves them in its rows.
enum class HeadOrder {
  kByPart,  // all queries, then all keys, then all values: GPT-2
  kByHead,  // query, key and value of a head, then those of the next: BLOOM
};

// Returns views of the queries, keys and values in `packed` [batch * sequence, 3 * heads * head
// width], without biases.
AttentionInputs SplitHeads(const at::Tensor& packed, int64_t batch, int64_t heads, HeadOrder order);

// Computes causal attention with scores divided by the root of the head width, and returns
// [batch * sequence, heads * head width]. Where ranks of the context axis divide the sequence, they
// exchange what the context says; the number of ranks must divide that of query heads for
// ContextExchange::kHeads. A collective that fails throws CommunicationError.
at::Tensor Attend(const AttentionInputs& inputs, const DropoutPlace& dropout,
                  const MicroBatchContext& context);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_ATTENTION_H_
