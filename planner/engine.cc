#include "planner/engine.h"

namespace muster::planner {

const Engine& MusterEngine() {
  static constexpr Engine kEngine = {.name = "muster",
                                     .matmul = 0.765,
                                     .attention = 0.385,
                                     .memory = 0.95,
                                     .network = 0.8,
                                     .host_block = 0.4e-3,
                                     .host_head = 0.1e-3,
                                     .whole_passes = 14,
                                     .divided_passes = 8,
                                     .logit_bytes = 6,
                                     .flash_attention = true,
                                     .overlaps_data = true,
                                     .balances_stages = true};
  return kEngine;
}

const Engine& SeleneEngine() {
  static constexpr Engine kEngine = {.name = "Megatron-LM, 2022",
                                     .matmul = 0.84,
                                     .memory = 0.95,
                                     .gradient_bytes = 2,
                                     .weight_bytes = 2,
                                     .gathers_again = true};
  return kEngine;
}

const Engine& VTrainEngine() {
  static constexpr Engine kEngine = {.name = "Megatron-DeepSpeed, 2023",
                                     .matmul = 0.88,
                                     .attention = 0.48,
                                     .memory = 0.95,
                                     .network = 0.86,
                                     .product_start = 15e-6,
                                     .host_block = 3.2e-3,
                                     .host_head = 3.15e-3,
                                     .host_unfused = 1.52e-3,
                                     .softmax_multiple = 4,
                                     .gradient_bytes = 4};
  return kEngine;
}

}  // namespace muster::planner
