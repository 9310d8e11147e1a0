#include "trainer/engine/unit_values.h"

#include <algorithm>

#include "base/status_macros.h"

namespace muster::trainer {

absl::Status UnitValues::Gather(int unit) {
  const Unit& gathered = units_[static_cast<size_t>(unit)];
  gathered.AllocateValues();
  return gather_.Start(gathered.values(), gathered.held().values, gathered.layout().name);
}

absl::Status UnitValues::AwaitBlock(int block) {
  for (const Unit& unit : units_) {
    const std::vector<int>& users = unit.layout().users;
    if (!std::binary_search(users.begin(), users.end(), block)) continue;
    MUSTER_RETURN_IF_ERROR(gather_.FinishOf(unit.values()));
  }
  return absl::OkStatus();
}

absl::Status UnitValues::Release(int unit) {
  const Unit& released = units_[static_cast<size_t>(unit)];
  MUSTER_RETURN_IF_ERROR(gather_.FinishOf(released.values()));
  released.ReleaseValues();
  return absl::OkStatus();
}

}  // namespace muster::trainer
