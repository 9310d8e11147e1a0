#include "operator/core/state/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

struct Committed {
  int64_t step = 0;
  int64_t durable = 0;   // the part of `step` that is saved
  bool reported = true;  // false: known from its checkpoint alone
};

// Returns the newest step that is known to be done. Steps are reported seldom, so a checkpoint may
// be ahead of the reports; a checkpoint of a history that was left is not.
std::optional<Committed> NewestCommitted(const JobView& view) {
  const auto& latest = view.progress.latest;
  const auto& saved = view.checkpoint.written;
  if (!latest && !saved) return std::nullopt;
  if (!saved) return Committed{latest->version().step()};
  const v1alpha1::Version& last = saved->version();
  if (!latest || std::tuple(latest->version().attempt(), latest->version().step()) <
                     std::tuple(last.attempt(), last.step())) {
    return Committed{last.step(), last.step(), false};
  }
  return Committed{latest->version().step(), std::min(latest->version().step(), last.step())};
}

// A command states the number of its steps, if it wants to, with its reports.
int64_t StepsOfRun(const Draft& draft) {
  if (draft.spec().has_trainer()) return TotalSteps(draft.spec());
  const auto& latest = draft.view.progress.latest;
  return latest ? latest->total_steps() : 0;
}

// Returns the time that `steps` more steps take; nullopt if no speed is known.
std::optional<absl::Duration> TimeOf(const Draft& draft, int64_t steps) {
  const ProgressView& seen = draft.view.progress;
  const auto left = static_cast<double>(steps);
  if (!draft.spec().has_trainer()) {
    if (seen.steps_per_second <= 0) return std::nullopt;
    return absl::Seconds(left / seen.steps_per_second);
  }
  if (seen.tokens_per_second <= 0) return std::nullopt;
  const auto& train = draft.spec().trainer().train();
  return absl::Seconds(left * train.global_batch() * train.sequence() / seen.tokens_per_second);
}

// Progress is written seldom, so that one event stands for all spikes since the last one.
void WriteSpikes(Draft& draft, const v1alpha1::StepReport& latest) {
  v1alpha1::ProgressStatus& progress = *draft.status().mutable_progress();
  const int64_t before = progress.spikes();
  if (latest.spikes_total() == 0 && !progress.has_spikes()) return;
  progress.set_spikes(latest.spikes_total());
  if (latest.spikes_total() <= before) return;
  const std::optional<SpikeView>& spike = draft.view.progress.spike;
  const std::string which =
      spike ? absl::StrCat("step ", spike->step, " is a spike: ", spike->why) : "a step is a spike";
  draft.EmitWarning(Reason::kSpike,
                    absl::StrCat(which, "; the run has had ", latest.spikes_total(), " so far"));
}

}  // namespace

bool HasNewStep(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  const auto& latest = draft.view.progress.latest;
  return memory.phase == RoundPhase::kActive && draft.spec().has_trainer() && latest &&
         latest->version().step() != memory.active_from_step;
}

void WriteProgress(Draft& draft) {
  const ProgressView& seen = draft.view.progress;
  const auto newest = NewestCommitted(draft.view);
  if (!newest) return;
  v1alpha1::ProgressStatus& progress = *draft.status().mutable_progress();
  const int64_t step = newest->step;
  const int64_t steps = StepsOfRun(draft);
  progress.set_step(step);
  if (steps > 0) progress.set_steps(steps);
  if (seen.latest && std::isfinite(seen.latest->loss())) progress.set_loss(seen.latest->loss());
  if (seen.latest && (seen.latest->skipped_total() > 0 || progress.has_skipped_steps())) {
    progress.set_skipped_steps(seen.latest->skipped_total());
  }
  if (seen.latest) WriteSpikes(draft, *seen.latest);
  if (seen.validation_loss) progress.set_validation_loss(*seen.validation_loss);
  if (seen.tokens_per_second > 0) progress.set_tokens_per_second(seen.tokens_per_second);
  const std::optional<absl::Duration> eta = TimeLeft(draft);
  if (eta) progress.set_eta(absl::FormatDuration(absl::Trunc(*eta, absl::Seconds(1))));
  progress.set_time(FormatWall(draft.view.wall));
}

void ReportProgress(Draft& draft) {
  const v1alpha1::ProgressStatus& written = draft.view.status.progress();
  const auto newest = NewestCommitted(draft.view);
  if (!newest || (written.has_step() && written.step() == newest->step)) return;
  // The status is written for the checkpoint anyhow, and its progress must not be behind that.
  if (written.step() < newest->durable) return WriteProgress(draft);
  if (!newest->reported || IsFinished(draft.view.status)) return;
  const absl::Time last = ParseWall(written.time());
  // A wall clock that was set back must not silence progress until it has caught up.
  const absl::Duration age = std::max(draft.view.wall - last, last - draft.view.wall);
  if (last != absl::InfinitePast() && age < draft.options.progress_interval) {
    draft.RequeueAt(draft.view.now + draft.options.progress_interval - age);
    return;
  }
  if (draft.view.now < draft.view.progress_slot) {
    draft.plan.wants_progress_slot = draft.view.progress_slot == absl::InfiniteFuture();
    if (!draft.plan.wants_progress_slot) draft.RequeueAt(draft.view.progress_slot);
    return;
  }
  draft.plan.writes_progress = true;
  WriteProgress(draft);
}

std::optional<absl::Duration> TimeLeft(const Draft& draft) {
  const int64_t steps = StepsOfRun(draft);
  if (steps <= 0) return std::nullopt;
  const auto newest = NewestCommitted(draft.view);
  // A job that went back is behind the step that its status last showed.
  const int64_t step = newest ? newest->step : draft.view.status.progress().step();
  return TimeOf(draft, std::max<int64_t>(0, steps - step));
}

int64_t NewestCheckpoint(const Draft& draft) {
  const v1alpha1::TrainingJobStatus& status = draft.plan.status;
  const int64_t recorded = status.checkpoint().has_step() ? status.checkpoint().step() : -1;
  const auto& written = draft.view.checkpoint.written;
  return std::max(recorded, written ? written->version().step() : -1);
}

}  // namespace muster::control
