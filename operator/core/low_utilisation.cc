#include "operator/core/low_utilisation.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_format.h"
#include "operator/core/grow.h"
#include "operator/core/growth_sizes.h"
#include "operator/core/spec_values.h"

namespace muster::control {
namespace {

constexpr double kBusyEnough = 0.5;
constexpr int64_t kStepsNeeded = 20;

}  // namespace

void GiveUpIdleWorkers(Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  const std::optional<BusyView>& window = draft.view.progress.busy;
  if (!window || window->steps < kStepsNeeded || window->busy >= kBusyEnough) return;
  if (memory.phase != RoundPhase::kActive || window->round != memory.id.round) return;
  // Spares that take seats are granted as well, but they do not make a round larger.
  if (!GrowsByItself(draft.spec()) || SpareCount(draft.spec()) > 0) return;
  const int granted = GrantedSize(draft.spec(), draft.status());
  const int members = static_cast<int>(memory.members.size());
  if (granted == 0 || members != granted || draft.WorkersWanted() != granted) return;
  const int keep =
      std::max(WorkerCount(draft.spec()), LargestUpTo(LargerSizes(draft.spec()), granted - 1));
  GiveUpWorkers(draft, keep, draft.options.growth_snooze_limit,
                absl::StrFormat("the ranks of %d workers were busy for %.0f%% of the last 5m: the "
                                "job goes back to %d workers",
                                members, 100 * window->busy, keep));
}

}  // namespace muster::control
