#ifndef MUSTER_TRAINER_MODEL_LAYERS_HEAD_H_
#define MUSTER_TRAINER_MODEL_LAYERS_HEAD_H_

#include <memory>
#include <string>

#include "planner/model_shape.h"
#include "trainer/model/block.h"
#include "trainer/model/layers/norm.h"

namespace muster::trainer {

// The names of a head's tensors, and its norm.
struct HeadOptions {
  std::string norm;  // without .weight
  Norm::Kind norm_kind = Norm::Kind::kLayerNorm;
  std::string weight;  // of the output layer, or of the embedding that it is tied to
  double deviation = 0.02;
};

// Makes the last block of a language model: a norm, the output layer [vocabulary, width] without
// bias, and the loss; without labels, the logits of the token after each row.
std::unique_ptr<Block> MakeHead(const planner::ModelShape& shape, const HeadOptions& options);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_HEAD_H_
