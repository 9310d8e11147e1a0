#ifndef MUSTER_TRAINER_MODEL_BLOCK_H_
#define MUSTER_TRAINER_MODEL_BLOCK_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "c10/core/ScalarType.h"
#include "c10/util/intrusive_ptr.h"
#include "trainer/comm/axis_groups.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/model/delayed_gradients.h"
#include "trainer/model/parameter.h"
#include "trainer/model/sequence_order.h"
#include "trainer/model/weight_casts.h"

namespace muster::trainer {

// Everything that a block may depend on besides its inputs and parameters. The tensors are on the
// parameters' device.
struct MicroBatchContext {
  // In the comments here `sequence` is the number of this rank's tokens. It is the whole sequence
  // unless there is a context axis; then it is this rank's runs (RunsOfSequence), ascending.
  at::Tensor tokens;  // int64 [batch, sequence]
  // int64 [batch, sequence]: the token after each position, or kIgnoredLabel. If undefined, nothing
  // is trained, and the last block returns logits.
  at::Tensor labels;
  // int64 [sequence]: places in the whole sequence. Contexts of one engine share the tensor.
  at::Tensor positions;
  // int64 [ranks * sequence]: the positions of all ranks of the context axis, one rank after the
  // other. Undefined without a context axis.
  at::Tensor all_positions;
  // How attention crosses the context axis. It has no meaning without one.
  ContextExchange exchange = ContextExchange::kHeads;
  std::vector<int64_t> samples;  // global sample index of each row
  int64_t step = 0;              // the step being computed; counts from 1
  uint64_t seed = 0;
  bool training = true;  // dropout on
  // The type of matrix products; parameters and residual stream keep the type of the parameters.
  c10::ScalarType compute_type = c10::ScalarType::Float;
  // Linear layers multiply FP8 numbers, and compute_type is their results' type.
  bool fp8 = false;
  // Where blocks find weights in the type of products; null: each use of a weight casts it.
  c10::intrusive_ptr<WeightCasts> casts;
  // Where backward passes leave gradients of weights for later; null: they leave none.
  c10::intrusive_ptr<DelayedGradients> delayed;
  MeshCoordinates mesh;
  AxisGroups axes;
};

inline constexpr int64_t kIgnoredLabel = -100;

// Returns how many of `labels`, int64 in the host's memory, are valid tokens.
inline int64_t CountValid(const at::Tensor& labels) {
  const auto* begin = labels.const_data_ptr<int64_t>();
  return labels.numel() - std::count(begin, begin + labels.numel(), kIgnoredLabel);
}

// The last block's tensors[0] is the loss summed over valid tokens (a scalar) or, without labels,
// the logits of the token after each row, [batch, vocabulary].
struct BlockOutput {
  std::vector<at::Tensor> tensors;
  std::vector<at::Tensor> auxiliary_losses;
};

// A piece of a model that runs as one task. Forward is a pure function of inputs, context and the
// bound parameters: computed twice, it gives the same bits (recomputing activations relies on it).
// Not thread-safe. LibTorch exceptions pass through; the engine catches them.
class Block {
 public:
  virtual ~Block() = default;

  virtual std::string name() const = 0;
  virtual const std::vector<ParameterSpec>& parameters() const = 0;
  // Takes views of the units' memory, in the order of parameters(). Called before Forward.
  virtual void Bind(std::vector<at::Tensor> views) = 0;
  virtual BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) = 0;
  // Returns about how many multiplications a forward pass takes for each token. The stages of a
  // pipeline are cut by it. By default it is the number of elements of the block's matrices.
  virtual int64_t cost() const {
    int64_t cost = 0;
    for (const ParameterSpec& parameter : parameters()) {
      int64_t elements = parameter.shape.size() < 2 ? 0 : 1;
      for (const int64_t length : parameter.shape) elements *= length;
      cost += elements;
    }
    return cost;
  }
  // Returns true if ranks along the tensor and context axes may divide what the block computes.
  virtual bool divides_sequence() const { return false; }
  // Returns true if the backward pass leaves gradients of weights in context.delayed, if that is
  // not null. The engine may then compute them in a BackwardWeight task after BackwardInput.
  virtual bool can_split_backward() const { return false; }
};

// A model is a list of blocks: the output tensors of one are the inputs of the next.
struct Model {
  std::vector<std::unique_ptr<Block>> blocks;
  // Hugging Face's config.json, as far as the model alone decides it: the checkpoint adds the
  // weights' type and the tokenizer's ids.
  std::string config_json;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_BLOCK_H_
