#include "operator/placement/cluster/tree_amounts.h"

#include <algorithm>

namespace muster::control {

namespace {

// More than any node has; sums stay far from overflow.
constexpr int64_t kMostGpus = 1'000'000'000'000;

}  // namespace

Resources TreeAmounts(const ResourceAmounts& amounts, int64_t slots) {
  int64_t gpus = 0;
  for (const auto& [name, amount] : amounts.scalars) {
    if (IsGpuResource(name)) gpus += std::clamp<int64_t>(amount, 0, kMostGpus);
  }
  return {gpus, std::max<int64_t>(amounts.cpu_millis, 0),
          std::max<int64_t>(amounts.memory_bytes, 0), std::max<int64_t>(slots, 0)};
}

}  // namespace muster::control
