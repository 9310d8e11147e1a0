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

// Causal attention of this rank's queries to the keys of all ranks of the context axis, which have
// the runs of ContextExchange::kRing: returns [batch, heads, sequence, head width], for scores
// divided by the root of the head width.
//
// Keys and values go from rank to rank while those that are here are used, so that a rank has those
// of two ranks at a time. What each turn adds is merged by the logarithms of the sums of
// exponentials, which are kept with the result: the backward pass computes the probabilities again
// from these, in a second round of the keys, whose gradients travel with them (Liu et al., 2023,
// section 3). A rank's queries and the keys of another one are all masked or not at all, but for
// its own keys.
//
// Needs a context axis. A collective that fails throws CommunicationError.
at::Tensor RingAttend(const AttentionInputs& inputs, const DropoutPlace& dropout,
                      const MicroBatchContext& context);

// Repeats each head for the heads of queries that share it.
at::Tensor RepeatHeads(const at::Tensor& x, int64_t heads);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_RING_ATTENTION_H_
