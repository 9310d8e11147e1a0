#include "operator/queue/feasibility_key.h"

#include "absl/strings/str_cat.h"

namespace muster::control {

std::string FeasibilityKey(const GangRequest& request) {
  const Resources& each = request.per_worker;
  std::string key =
      absl::StrCat(each.gpus, " ", each.cpu_millis, " ", each.memory_bytes, " ", each.slots, " ",
                   request.min, " ", request.max, " ", request.required_level);
  for (const Slice& slice : request.slices) {
    absl::StrAppend(&key, "\n", slice.size, " ", slice.level);
  }
  const SpotBounds& spot = request.spot;
  if (spot.given) {
    absl::StrAppend(&key, "\nspot ", spot.allow, " ", spot.max_fraction, " ", spot.on_demand_floor);
  }
  return key;
}

}  // namespace muster::control
