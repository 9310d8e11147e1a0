#ifndef MUSTER_TRAINER_PROCESS_BF16_CHECK_H_
#define MUSTER_TRAINER_PROCESS_BF16_CHECK_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"

namespace muster::trainer {

// A CPU without bfloat16 instructions computes it in software, many times slower than fp32. The
// speed is measured, because neither the CPU's name nor its flags show how LibTorch multiplies on
// it.

// The seconds that one product of two small matrices takes on this CPU.
struct ProductTimes {
  double fp32 = 0.0;
  double bf16 = 0.0;
};

// Takes some milliseconds on the threads that the model uses. Unknown if LibTorch fails.
absl::StatusOr<ProductTimes> MeasureProducts(const Clock& clock);

// Returns a warning, with the factor, if bf16 takes more than twice as long as fp32. Pure.
std::optional<std::string> SlowBf16(const ProductTimes& times);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PROCESS_BF16_CHECK_H_
