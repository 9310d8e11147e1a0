#ifndef MUSTER_TRAINER_MODEL_FAMILIES_FAMILY_H_
#define MUSTER_TRAINER_MODEL_FAMILIES_FAMILY_H_

#include <memory>
#include <vector>

#include "base/json.h"
#include "planner/model_shape.h"
#include "trainer/model/block.h"
#include "trainer/model/families/config_reader.h"

namespace muster::trainer {

// The deviation of initial weights. Layers that add to the residual stream have it divided by the
// root of the number that do, 2 * layers, as in GPT-2.
inline constexpr double kDeviation = 0.02;
double ResidualDeviation(const planner::ModelShape& shape);

// A family of models: the functions that make one, and that write and read its config. The shapes
// are complete and checked (planner/model_shape.h).
struct Family {
  planner::ModelFamily family;
  // Makes the blocks: an embedding, one for each layer, and the head with the loss. Parameters have
  // Hugging Face's names and layouts.
  std::vector<std::unique_ptr<Block>> (*make)(const planner::ModelShape& shape);
  // Returns Hugging Face's config.json, by which transformers makes the same model.
  Json (*config)(const planner::ModelShape& shape);
  // Gives each field that transformers also takes under another name the name that `config` writes.
  void (*rename)(Json& config);
  // Reads such a config.json: the members of ModelShape but vocabulary, dropout and family.
  planner::ModelShape (*read)(ConfigReader& config);
};

// OpenAI's GPT-2: learned positions, LayerNorm before each part, tanh GELU, tied head.
Family Gpt2Family();
// Meta's LLaMA 1 to 3: rotary positions, RMSNorm before each part, SwiGLU, grouped-query attention.
Family LlamaFamily();
// BigScience's BLOOM: linear biases in place of positions, a norm after the embedding, LayerNorm
// before each part, tanh GELU, tied head.
Family BloomFamily();

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_FAMILIES_FAMILY_H_
