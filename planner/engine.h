#ifndef MUSTER_PLANNER_ENGINE_H_
#define MUSTER_PLANNER_ENGINE_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace muster::planner {

// A training program, as far as it decides how long a step takes on a device and what it keeps in
// memory. Coefficients without a word on where they come from follow from how the program works;
// docs/planner.md says how the fitted ones were found, and how well they do on steps that others
// measured.
struct Engine {
  absl::string_view name;
  // The parts of the device's rates that large matrix products, attention's products and passes
  // over memory reach.
  double matmul = 0.8, attention = 0.4, memory = 0.9;
  // The parts of the links' and the network's bandwidths that collectives reach.
  double links = 1, network = 0.8;
  // The seconds that a matrix product takes beyond its arithmetic: start, and waves that do not
  // fill the device.
  double product_start = 5e-6;
  // The seconds that the host takes to start all operations of one block of one micro-batch,
  // forward, computed again and backward, and those of the head. A device waits where its own work
  // is shorter.
  double host_block = 0, host_head = 0;
  // The seconds that a block takes longer where the product of micro-batch and heads of a rank is
  // no multiple of softmax_multiple, because a fused kernel refuses it. 0: no such kernel.
  double host_unfused = 0;
  int32_t softmax_multiple = 1;
  // The seconds of a step that depend on nothing.
  double step = 1e-3;
  // The bytes of a gradient and of a weight when ranks exchange them.
  int32_t gradient_bytes = 4, weight_bytes = 4;
  // The bytes that an update reads and writes for each parameter.
  double update_bytes = 40;
  // The bytes that a forward pass moves for each number of the width of a token: in norms, biases,
  // dropout and residuals, and those that the tensor axis divides, beside the feed-forward part's
  // activation.
  double whole_passes = 22, divided_passes = 12;
  // The bytes moved for each logit by the loss and its gradient, beside the products.
  double logit_bytes = 30;
  // Attention keeps scores on the chip, and skips those of later tokens.
  bool flash_attention = false;
  // The bytes moved for each score where it does not: products, mask, softmax and dropout.
  double score_bytes = 13;
  // A backward pass gathers the inputs of layers once more, which it keeps divided.
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
