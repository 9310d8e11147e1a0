#include "operator/alerts/stalled.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::control {

StalledFinding CheckStalled(absl::Duration hold, const StalledView& view, bool firing) {
  if (firing) {
    if (!view.has_new_step) return {};
    return {{Finding::Change::kResolves, "a step was reported again"}};
  }
  if (view.running_since == absl::InfiniteFuture()) return {};
  const absl::Time since = std::max(view.running_since, view.stepped_at);
  if (view.now < since + hold) return {{}, since + hold};
  const absl::Duration silent = absl::Trunc(view.now - since, absl::Seconds(1));
  return {{Finding::Change::kFires,
           absl::StrCat("no step was reported for ", absl::FormatDuration(silent))}};
}

}  // namespace muster::control
