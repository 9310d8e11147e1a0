#include "cli/show/job_table.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/show/progress_line.h"
#include "cli/show/text_table.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

std::string Workers(const TrainingJob& job) {
  const auto& workers = job.status.workers();
  const int32_t desired = workers.has_desired() ? workers.desired() : job.spec.workers().count();
  return absl::StrCat(workers.ready(), "/", desired);
}

std::string Loss(const TrainingJob& job) {
  const auto& progress = job.status.progress();
  return progress.has_loss() ? absl::StrFormat("%.4f", progress.loss()) : "";
}

std::string TokensPerSecond(double tokens) { return tokens > 0 ? Short(tokens) : ""; }

// The speed in the status is that of the job's last steps, also while it does not train.
double SpeedNow(const TrainingJob& job) {
  return job.status.state() == "Training" ? job.status.progress().tokens_per_second() : 0;
}

std::string TimeLeft(const TrainingJob& job) {
  return job.status.state() == "Training" ? job.status.progress().eta() : "";
}

Row WithNamespace(const TrainingJob& job, bool with_namespace, Row row) {
  if (with_namespace) row.insert(row.begin(), job.ns);
  return row;
}

Row Head(bool with_namespace, Row row) {
  if (with_namespace) row.insert(row.begin(), "NAMESPACE");
  return row;
}

}  // namespace

bool IsOver(const TrainingJob& job) {
  const std::string& state = job.status.state();
  return state == "Succeeded" || state == "Failed" || state == "Suspended";
}

std::string Age(absl::Time since, absl::Time now) {
  if (since == absl::InfinitePast() || since == absl::InfiniteFuture()) return "";
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(now - since));
  if (seconds < 120) return absl::StrCat(seconds, "s");
  if (seconds < 2 * 3600) return absl::StrCat(seconds / 60, "m");
  if (seconds < 48 * 3600) return absl::StrCat(seconds / 3600, "h");
  return absl::StrCat(seconds / 86400, "d");
}

std::string StepsOf(const TrainingJob& job) {
  const auto& progress = job.status.progress();
  const int64_t steps =
      progress.has_steps() ? progress.steps() : job.spec.trainer().train().steps();
  if (!progress.has_step() && steps == 0) return "";
  return steps > 0 ? absl::StrCat(progress.step(), "/", steps) : absl::StrCat(progress.step());
}

std::string JobTable(const std::vector<TrainingJob>& jobs, bool with_namespace, absl::Time now) {
  std::vector<Row> rows = {Head(with_namespace, {"NAME", "STATE", "WORKERS", "STEP", "LOSS",
                                                 "TOKENS/S", "ETA", "CHECKPOINT", "AGE"})};
  for (const TrainingJob& job : jobs) {
    const auto& saved = job.status.checkpoint();
    rows.push_back(WithNamespace(job, with_namespace,
                                 {job.name, job.status.state(), Workers(job), StepsOf(job),
                                  Loss(job), TokensPerSecond(SpeedNow(job)), TimeLeft(job),
                                  saved.has_step() ? absl::StrCat("step ", saved.step()) : "",
                                  Age(job.creation_time.value_or(absl::InfinitePast()), now)}));
  }
  return TextTable(rows);
}

std::string TopTable(const std::vector<TrainingJob>& jobs, bool with_namespace) {
  std::vector<TrainingJob> shown;
  std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(shown),
               [](const TrainingJob& job) { return !IsOver(job); });
  std::stable_sort(shown.begin(), shown.end(), [](const TrainingJob& a, const TrainingJob& b) {
    return SpeedNow(a) > SpeedNow(b);
  });
  std::vector<Row> rows = {
      Head(with_namespace, {"NAME", "STATE", "WORKERS", "STEP", "LOSS", "TOKENS/S", "ETA"})};
  int64_t ready = 0;
  double tokens = 0;
  for (const TrainingJob& job : shown) {
    ready += job.status.workers().ready();
    tokens += SpeedNow(job);
    rows.push_back(WithNamespace(job, with_namespace,
                                 {job.name, job.status.state(), Workers(job), StepsOf(job),
                                  Loss(job), TokensPerSecond(SpeedNow(job)), TimeLeft(job)}));
  }
  TrainingJob all;
  rows.push_back(WithNamespace(
      all, with_namespace,
      {absl::StrCat(shown.size(), " jobs"), "", absl::StrCat(ready), "", "", Short(tokens), ""}));
  return TextTable(rows);
}

}  // namespace muster::cli
