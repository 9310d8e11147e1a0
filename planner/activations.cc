#include "planner/activations.h"

#include <algorithm>

namespace muster::planner {

ActivationOptions ActivationsOf(const v1alpha1::ActivationsSpec& spec) {
  ActivationOptions options;
  if (spec.recompute() == "Full") options.recompute_every = std::max(1, spec.recompute_every());
  if (spec.compress() == "BF16") options.format = SavedFormat::kBf16;
  if (spec.compress() == "INT8") options.format = SavedFormat::kInt8;
  return options;
}

int64_t PackedBytes(SavedFormat format, int64_t numbers, int64_t bytes_of_number) {
  const int64_t blocks = (numbers + kInt8Block - 1) / kInt8Block;
  switch (format) {
    case SavedFormat::kWhole:
      return numbers * bytes_of_number;
    case SavedFormat::kBf16:
      return numbers * std::min<int64_t>(2, bytes_of_number);
    case SavedFormat::kInt8:
      return blocks * (kInt8Block + std::max<int64_t>(4, bytes_of_number));
  }
  return 0;
}

}  // namespace muster::planner
