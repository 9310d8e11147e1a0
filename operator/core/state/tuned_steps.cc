#include "operator/core/state/tuned_steps.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::control {

void NoteTunedSteps(const v1alpha1::TrainingJobStatus& status, v1alpha1::TrainingJobSpec& spec) {
  if (!spec.has_trainer()) return;
  auto& tunings = *spec.mutable_trainer()->mutable_tunings();
  const int known = std::min(tunings.size(), status.tunings_size());
  for (int i = 0; i < known; ++i) tunings[i].set_from_step(status.tunings(i).step());
}

std::vector<v1alpha1::Tuning> TuningsOf(const v1alpha1::TrainingJobSpec& spec,
                                        const v1alpha1::TrainingJobStatus& status) {
  std::vector<v1alpha1::Tuning> tunings;
  for (const v1alpha1::TuningSpec& asked : spec.trainer().tunings()) {
    const int place = static_cast<int>(tunings.size());
    const bool known = place < status.tunings_size();
    v1alpha1::Tuning tuning;
    tuning.set_step(known ? status.tunings(place).step() : asked.from_step());
    if (asked.has_learning_rate()) tuning.set_learning_rate(asked.learning_rate());
    if (asked.has_clip_norm()) tuning.set_clip_norm(asked.clip_norm());
    tunings.push_back(std::move(tuning));
  }
  return tunings;
}

std::string DescribeTuning(const v1alpha1::TuningStatus& tuning) {
  std::vector<std::string> changes;
  if (tuning.has_learning_rate()) {
    changes.push_back(absl::StrCat("learning rate ", tuning.learning_rate()));
  }
  if (tuning.has_clip_norm()) changes.push_back(absl::StrCat("clip norm ", tuning.clip_norm()));
  const std::string by = tuning.by().empty() ? "" : absl::StrCat(" (asked by ", tuning.by(), ")");
  const std::string from =
      tuning.step() > 0 ? absl::StrCat("step ", tuning.step()) : "the next step of all ranks";
  return absl::StrCat(absl::StrJoin(changes, ", "), " from ", from, by);
}

}  // namespace muster::control
