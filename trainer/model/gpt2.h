#ifndef MUSTER_TRAINER_MODEL_GPT2_H_
#define MUSTER_TRAINER_MODEL_GPT2_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "trainer/model/block.h"

namespace muster::trainer {

struct Gpt2Config {
  int layers = 12;
  int heads = 12;
  int64_t width = 768;
  int64_t positions = 1024;
  int64_t vocabulary = 50257;
  double dropout = 0.1;  // embedding, attention and residual
};

// Makes OpenAI's GPT-2: learned positions, pre-LN blocks, tanh GELU, causal attention, output head
// tied to the token embedding. Parameters carry Hugging Face's names and layout (linear weights are
// [in, out]); initial values are GPT-2's: N(0, 0.02), residual projections scaled by
// 1/sqrt(2 * layers). The blocks are the embedding, one per layer, and the head with the loss.
// InvalidArgument for impossible dimensions.
absl::StatusOr<Model> MakeGpt2(const Gpt2Config& config);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_GPT2_H_
