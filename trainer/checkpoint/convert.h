#ifndef MUSTER_TRAINER_CHECKPOINT_CONVERT_H_
#define MUSTER_TRAINER_CHECKPOINT_CONVERT_H_

#include <cstddef>
#include <span>

#include "trainer/checkpoint/data_type.h"

namespace muster::trainer {

// Returns true for the types of real numbers: F64, F32, F16 and BF16.
bool IsFloatingPoint(DataType type);

// Converts numbers of one floating-point type, `from`, into F32 or F64, `to`. Both spans hold the
// same number of elements. Every value of a narrower type keeps its value; one of a wider type is
// rounded to the nearest.
void ConvertNumbers(DataType from_type, std::span<const std::byte> from, DataType to_type,
                    std::span<std::byte> to);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_CONVERT_H_
