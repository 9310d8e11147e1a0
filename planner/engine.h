#ifndef MUSTER_PLANNER_ENGINE_H_
#define MUSTER_PLANNER_ENGINE_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace muster::planner {

// The traits of a training program that decide how long a step takes on a device and what it keeps
// in memory. Unless a comment says otherwise, a coefficient follows from how the program works;
// docs/planner.md says how the fitted ones were found, and how well they predict steps that others
// measured.
struct Engine {
  absl::string_view name;
  // The fractions of the device's rates that large matrix products, attention's products and passes
  // over memory reach.
  double matmul = 0.8, attention = 0.4, memory = 0.9;
  // The fractions of the links' and the network's bandwidths that collectives reach.
  double links = 1, network = 0.8;
  // The seconds that a matrix product takes beyond its arithmetic: for its start, and for waves
  // that do not fill the device.
  double product_start = 5e-6;
  // The seconds that the host takes to start all operations of one micro-batch in a block (forward,
  // recomputed and backward) and in the head. The device waits if its own work is shorter.
  double host_block = 0, host_head = 0;
  // The extra seconds for a block if a rank's micro-batch times its heads is not a multiple of
  // softmax_multiple, because a fused kernel refuses it then. 0: there is no such kernel.
  double host_unfused = 0;
  int32_t softmax_multiple = 1;
  // The fixed seconds of every step.
  double step = 1e-3;
  // The bytes of a gradient and of a weight when ranks exchange them.
  int32_t gradient_bytes = 4, weight_bytes = 4;
  // The bytes that an update reads and writes for each parameter.
  double update_bytes = 40;
  // The bytes that a forward pass moves for each token and number of its width: in norms, biases,
  // dropout and residuals, and in what the tensor axis divides, apart from the feed-forward part's
  // activation.
  double whole_passes = 22, divided_passes = 12;
  // The bytes that the loss and its gradient move for each logit, apart from the products.
  double logit_bytes = 30;
  // Attention keeps scores on the chip, and skips those of later tokens.
  bool flash_attention = false;
  // Without flash_attention, the bytes that products, mask, softmax and dropout move for each
  // score.
  double score_bytes = 13;
  // Ranks keep the inputs of layers divided, so a backward pass gathers them once more.
  bool gathers_again = false;
  // Gradients and weights travel while blocks compute.
  bool overlaps_data = false;
  // Stages are cut by what their blocks and the head cost, not into equally many blocks.
  bool balances_stages = false;
  // The bytes of weights, gradients and optimizer's state for each parameter: those that every rank
  // has, and those that a sharded optimizer divides. muster's own are counted in memory.h.
  double whole_bytes = 18, divided_bytes = 0;
};

// muster's trainer on a GPU. Fitted to its steps on one H100 (docs/performance.md).
const Engine& MusterEngine();
// Megatron-LM as of arXiv 2205.05198 on Selene. One coefficient, `matmul`, is fitted.
const Engine& SeleneEngine();
// Megatron-DeepSpeed as of arXiv 2312.12391. `matmul`, the host's times and `network` are fitted.
const Engine& VTrainEngine();

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_ENGINE_H_
