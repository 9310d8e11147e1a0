#ifndef MUSTER_TRAINER_ENGINE_STEP_ROUNDED_SUMS_H_
#define MUSTER_TRAINER_ENGINE_STEP_ROUNDED_SUMS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/comm/communicator.h"
#include "trainer/engine/link/sent_numbers.h"

namespace muster::trainer {

// Exchanges of gradients that are rounded on the way between ranks, and added up in the format that
// they were computed in. Tensors are flat, in FP32 or FP64, and consist of whole chunks. LibTorch
// exceptions pass through.

// The seed of a rounding's random part. No two exchanges of a step have the same key, so their
// errors are independent of each other.
struct RoundingKey {
  uint64_t seed = 0;
  int64_t rank = 0;  // the sender's number in the round
  int64_t step = 0;
  int64_t unit = 0;
  int64_t exchange = 0;  // counts the unit's exchanges in this step
};

// Returns the bytes that a rank sends for `count` numbers. Each number has `bytes_of_scale` bytes
// before it is rounded, and so has the scale of an INT8 block.
int64_t SentBytes(SentNumbers numbers, int64_t count, int64_t bytes_of_scale);

// As Communicator::AllToAllV: input_counts[r] numbers of `input` go to rank r, and `output` gets
// output_counts[r] from it. What this rank sends to itself is not rounded.
//
// BF16: each number is rounded to the nearest; the error is at most 2^-8 of the number.
//
// INT8: each number becomes one of the two nearest multiples of largest / 127, where `largest` is
// the largest magnitude among the planner::kInt8Block numbers of its block. The upper one has the
// probability that makes the mean right (stochastic rounding; QSGD, Alistarh et al., 2017, section
// 3). The error is less than largest / 127.
//
// A number that is not finite arrives as one; in INT8 it makes its whole block not finite.
std::unique_ptr<Pending> RoundedAllToAll(Communicator& group, SentNumbers numbers,
                                         const RoundingKey& key, at::Tensor output,
                                         std::vector<int64_t> output_counts, at::Tensor input,
                                         std::vector<int64_t> input_counts, std::string label);

// As Communicator::AllReduce with kSum. Each rank adds up one slice of all ranks' numbers in the
// order of ranks, and sends the sum to the others, rounded again. All ranks get the same bits.
std::unique_ptr<Pending> RoundedAllReduce(Communicator& group, SentNumbers numbers,
                                          const RoundingKey& key, at::Tensor tensor,
                                          std::string label);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_ROUNDED_SUMS_H_
