#include "operator/core/state/spec_values.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/backoff.h"
#include "planner/layout.h"

namespace muster::control {

using v1alpha1::TrainingJobSpec;

int WorkerCount(const TrainingJobSpec& spec) {
  return spec.workers().has_count() ? std::max(0, spec.workers().count()) : 1;
}

int MinWorkers(const TrainingJobSpec& spec) {
  const int count = WorkerCount(spec);
  if (!spec.workers().has_min()) return std::max(1, count);
  int least = std::clamp(spec.workers().min(), 1, std::max(1, count));
  while (least < count && WorkersThatForm(spec, least) < least) ++least;
  return least;
}

int WorkersThatForm(const TrainingJobSpec& spec, int workers) {
  return planner::WorkersThatForm(spec.trainer().parallelism(), planner::RanksOf(spec.workers()),
                                  workers);
}

bool FormsByMultiples(const TrainingJobSpec& spec) {
  const v1alpha1::ParallelismSpec& parallelism = spec.trainer().parallelism();
  return planner::ShardOf(parallelism) * planner::PipelineOf(parallelism) *
             planner::ContextOf(parallelism) >
         1;
}

std::string MultipleText(const TrainingJobSpec& spec) {
  const v1alpha1::ParallelismSpec& parallelism = spec.trainer().parallelism();
  std::vector<std::string> names;
  int multiple = 1;
  const auto add = [&](const char* name, int extent) {
    if (extent == 1) return;
    names.emplace_back(name);
    multiple *= extent;
  };
  add("pipeline", planner::PipelineOf(parallelism));
  add("shard", planner::ShardOf(parallelism));
  add("context", planner::ContextOf(parallelism));
  return absl::StrCat("parallelism.", absl::StrJoin(names, " x "), ", ", multiple);
}

bool GrowsByItself(const TrainingJobSpec& spec) { return spec.elastic().policy() == "Grow"; }

int SpareCount(const TrainingJobSpec& spec) {
  return GrowsByItself(spec) ? 0 : std::max(0, spec.workers().spares());
}

int MaxWorkers(const TrainingJobSpec& spec) {
  const int count = WorkerCount(spec);
  return GrowsByItself(spec) ? std::max(count, spec.workers().max()) : count;
}

bool MayHaveMore(const TrainingJobSpec& spec) {
  return GrowsByItself(spec) || SpareCount(spec) > 0;
}

absl::Duration GrowthSnooze(const TrainingJobSpec& spec) {
  return ParseDurationOr(spec.elastic().snooze(), absl::Minutes(5));
}

int MaxFailures(const TrainingJobSpec& spec) {
  return spec.failure_policy().has_max_failures() ? spec.failure_policy().max_failures() : 10;
}

int MaxIdenticalFailures(const TrainingJobSpec& spec) {
  const v1alpha1::FailurePolicySpec& policy = spec.failure_policy();
  return policy.has_max_identical_failures() ? policy.max_identical_failures() : 3;
}

absl::Duration FailureWindow(const TrainingJobSpec& spec) {
  return ParseDurationOr(spec.failure_policy().window(), absl::Hours(1));
}

BackoffBounds RetryBackoff(const TrainingJobSpec& spec, const BackoffBounds& otherwise) {
  const v1alpha1::FailurePolicySpec& policy = spec.failure_policy();
  const auto wait = [](const std::string& text, absl::Duration unsaid) {
    return text.empty() ? unsaid : std::max(kShortestRetry, ParseDurationOr(text, unsaid));
  };
  return {wait(policy.initial_backoff(), otherwise.first),
          wait(policy.max_backoff(), otherwise.longest)};
}

bool LeaderDecidesSuccess(const TrainingJobSpec& spec) { return spec.success_policy() == "Leader"; }

bool IsManagedByAnother(const TrainingJobSpec& spec) {
  return spec.has_managed_by() && spec.managed_by() != kManagedByMuster;
}

bool ShrinksOnFailure(const TrainingJobSpec& spec) {
  return spec.failure_policy().on_rank_failure() == "Shrink";
}

int64_t TotalSteps(const TrainingJobSpec& spec) { return spec.trainer().train().steps(); }

absl::Duration ActiveDeadline(const TrainingJobSpec& spec) {
  return ParseDurationOr(spec.active_deadline(), absl::InfiniteDuration());
}

absl::Duration OrphanDeadline(const TrainingJobSpec& spec,
                              std::optional<absl::Duration> otherwise) {
  const absl::Duration by_kind = spec.has_trainer() ? absl::Hours(6) : absl::InfiniteDuration();
  return ParseDurationOr(spec.elastic().orphan_deadline(), otherwise.value_or(by_kind));
}

absl::Duration ParseDurationOr(absl::string_view text, absl::Duration otherwise) {
  absl::Duration duration;
  return !text.empty() && absl::ParseDuration(text, &duration) ? duration : otherwise;
}

}  // namespace muster::control
