#ifndef MUSTER_TRAINER_MODEL_LAYERS_RING_ATTENTION_H_
#define MUSTER_TRAINER_MODEL_LAYERS_RING_ATTENTION_H_

#include <memory>

#include "ATen/core/Tensor.h"
#include "trainer/model/block.h"
#include "trainer/model/layers/alibi.h"
#include "trainer/model/layers/dropout.h"

namespace muster::trainer {

// The inputs of attention, each [batch, heads, sequence, head width]. Keys and values may have
// fewer heads than queries, which then share them in equal runs (grouped-query attention).
struct AttentionInputs {
  at::Tensor queries;
  at::Tensor keys;
  at::Tensor values;
  // The biases of the scores of all the model's heads; null: scores have no bias.
  std::shared_ptr<AlibiTable> alibi;
};

// Returns the causal attention of this rank's queries to the keys of all ranks of the context axis,
// [batch, heads, sequence, head width]. Scores are divided by the root of the head width. Each rank
// has the runs of ContextExchange::kRing.
//
// In each turn a rank uses one rank's keys and values, and meanwhile sends them on to the next
// rank. So it holds the keys and values of two ranks at a time. A turn gives an output and, for
// each query, the logarithm of the sum of exp(score), in FP32 or FP64. The outputs of all turns are
// merged with these logarithms (Dao et al., 2022, "FlashAttention", section 3.1). The result keeps
// the logarithm for all keys. With it the backward pass computes the probabilities again while the
// keys go around a second time; the gradients of the keys follow them (Liu et al., 2023, section
// 3). In a turn with another rank's keys, a rank uses only the half of the queries, or of the keys,
// that the causal mask leaves whole. Only its own keys need a mask.
//
// Requires context.axes.context, which must outlive the graph of the result, and
// context.all_positions. Throws CommunicationError if a collective fails.
at::Tensor RingAttend(const AttentionInputs& inputs, const DropoutPlace& dropout,
                      const MicroBatchContext& context);

// Returns x [batch, own heads, sequence, width] as [batch, heads, sequence, width]: each head is
// repeated heads / own heads times in a row. Requires that this is a whole number.
at::Tensor RepeatHeads(const at::Tensor& x, int64_t heads);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_RING_ATTENTION_H_
