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

// Returns the queries, keys and values in `packed` [batch * sequence, 3 * heads * head width], each
// as a view [batch, heads, sequence, head width]. `alibi` of the result is null.
AttentionInputs SplitHeads(const at::Tensor& packed, int64_t batch, int64_t heads, HeadOrder order);

// Computes causal attention: softmax(Q K^T / sqrt(head width)) V, with inputs.alibi added to the
// scores, and dropout of the probabilities. Returns [batch * sequence, heads * head width], for
// this rank's heads and tokens. If there is a context axis, its ranks exchange keys and values as
// context.exchange says. Throws c10::ValueError if the exchange is kHeads and the number of ranks
// does not divide the number of query heads, and CommunicationError if a collective fails. The
// context's communicators must outlive the graph of the result.
at::Tensor Attend(const AttentionInputs& inputs, const DropoutPlace& dropout,
                  const MicroBatchContext& context);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_ATTENTION_H_
