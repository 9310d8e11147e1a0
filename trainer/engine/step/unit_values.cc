#include "trainer/engine/step/unit_values.h"

#include <algorithm>

#include "base/status_macros.h"

namespace muster::trainer {

absl::Status UnitValues::Gather(int unit) {
  const Unit& gathered = units_[static_cast<size_t>(unit)];
  MUSTER_RETURN_IF_ERROR(rest_.Bring(unit));
  gathered.AllocateValues();
  if (!gather_) {
    at::Tensor(gathered.values()).copy_(gathered.held().values);
    return absl::OkStatus();
  }
  if (rounds_) {
    return gather_->StartInBf16(gathered.values(), gathered.held().values, gathered.layout().name);
  }
  return gather_->Start(gathered.values(), gathered.held().values, gathered.layout().name);
}

absl::Status UnitValues::AwaitBlock(int block) {
  if (!gather_) return absl::OkStatus();
  for (const Unit& unit : units_) {
    const std::vector<int>& users = unit.layout().users;
    if (!std::binary_search(users.begin(), users.end(), block)) continue;
    MUSTER_RETURN_IF_ERROR(gather_->FinishOf(unit.values()));
  }
  return absl::OkStatus();
}

absl::Status UnitValues::AwaitAll() { return gather_ ? gather_->Finish() : absl::OkStatus(); }

absl::Status UnitValues::Release(int unit) {
  const Unit& released = units_[static_cast<size_t>(unit)];
  if (gather_) MUSTER_RETURN_IF_ERROR(gather_->FinishOf(released.values()));
  released.ReleaseValues();
  rest_.Drop(unit);
  return absl::OkStatus();
}

}  // namespace muster::trainer
