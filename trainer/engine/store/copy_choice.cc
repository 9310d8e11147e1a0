#include "trainer/engine/store/copy_choice.h"

#include <algorithm>

#include "trainer/commit/version.h"

namespace muster::trainer {

bool AsksForCopy(const CopyMoment& moment) {
  if (!moment.idle || moment.replica_is_awaited) return false;
  if (moment.every_steps == 0) return moment.pace_is_due;
  return moment.step / moment.every_steps > moment.copied_step / moment.every_steps;
}

bool IsReplicaAwaited(const std::optional<v1alpha1::ReplicaReport>& report,
                      const std::optional<v1alpha1::Version>& newest) {
  if (!report || !report->streams() || !newest) return false;
  return std::none_of(report->kept().begin(), report->kept().end(),
                      [&](const v1alpha1::Version& kept) { return Same(kept, *newest); });
}

}  // namespace muster::trainer
