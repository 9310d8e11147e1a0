#ifndef MUSTER_PLANNER_FP8_H_
#define MUSTER_PLANNER_FP8_H_

#include <cstdint>

#include "absl/status/status.h"
#include "planner/model_shape.h"

namespace muster::planner {

// A GPU multiplies FP8 matrices whose dimensions are multiples of this.
inline constexpr int64_t kFp8Multiple = 16;

// Checks that every linear layer of a complete shape's blocks can multiply FP8 numbers, for a
// micro-batch of so many sequences of so many tokens. InvalidArgument names the field that is to
// change and a value that would do. It is so on every machine, that a job which trains on CPUs
// trains on GPUs too. That must hold for each of the `tensor` ranks that divide the layers, and for
// the tokens of each of the `context` ranks that divide a sequence. Pure, thread-safe.
absl::Status CheckFp8(const ModelShape& shape, int64_t micro_batch, int64_t sequence,
                      int tensor = 1, int context = 1);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_FP8_H_
