#ifndef MUSTER_TRAINER_ENGINE_STEP_PACKED_NUMBERS_H_
#define MUSTER_TRAINER_ENGINE_STEP_PACKED_NUMBERS_H_

#include <cstdint>

#include "ATen/core/Tensor.h"
#include "c10/core/ScalarType.h"
#include "planner/activations.h"

namespace muster::trainer {

// Numbers in a format of fewer bits, on their device. LibTorch exceptions pass through.
struct PackedNumbers {
  c10::ScalarType type = c10::ScalarType::Float;  // of the numbers
  int64_t count = 0;
  // BF16 [count], or int8 [blocks, planner::kInt8Block], with zeros at the end.
  at::Tensor values;
  at::Tensor scales;  // [blocks, 1], of INT8 alone
};

// Returns true if numbers of the type take less memory in the format. FP64 and FP32 have both
// formats, BF16 has INT8.
bool CanPack(c10::ScalarType type, planner::SavedFormat format);

// Rounds the numbers of a flat tensor, for which CanPack() is true.
//
// BF16: to the nearest; the error is at most 2^-8 of the number, as long as it is not subnormal.
//
// INT8: to the nearest multiple of largest / 127, where `largest` is the largest magnitude among
// the kInt8Block numbers of a block. The error is at most largest / 254, up to the rounding errors
// of the numbers' type, or of FP32 where that is BF16. Blocks whose largest / 127 is subnormal
// become zeros. A block with a number that is not finite has such numbers afterwards, too.
PackedNumbers Pack(const at::Tensor& flat, planner::SavedFormat format);

// Returns the rounded numbers, flat, in their type.
at::Tensor Unpack(const PackedNumbers& packed);

// Blocks of numbers as whole multiples, `steps`, of the scale of each block.
struct Int8Blocks {
  at::Tensor steps;   // int8, in the shape of the numbers
  at::Tensor scales;  // as many, with 1 in place of the last dimension; 0 for a block of zeros
};

// Rounds FP32 or FP64 numbers [..., planner::kInt8Block], each row by its own scale, as Pack() does
// with INT8. With `uniform`, numbers in [0, 1) whose shape can be broadcast to that of the numbers,
// each becomes one of its two neighbours: the upper one if `uniform` is more than the way up to it.
Int8Blocks RoundToInt8(const at::Tensor& numbers, const at::Tensor& uniform = {});

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_PACKED_NUMBERS_H_
