// `muster get` and `muster describe`: show jobs to people.

#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/byte_text.h"
#include "base/exit_codes.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/history.h"
#include "cli/job_paths.h"
#include "cli/local_jobs.h"
#include "cli/loss_curve.h"
#include "cli/show/progress_line.h"
#include "operator/api/redact.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

// Returns the job's state, with a note if its `muster run` is gone before the job has ended.
std::string StateOf(const TrainingJob& job, bool live) {
  const std::string state = job.status.state();
  const bool settled = state == "Succeeded" || state == "Failed" || state == "Suspended";
  return live || settled ? OrDash(state) : absl::StrCat(OrDash(state), " (no operator)");
}

std::string Row(const TrainingJob& job, bool live, const History& history) {
  const auto& progress = job.status.progress();
  std::string loss = progress.has_loss() ? absl::StrFormat("%.4f", progress.loss()) : "-";
  int64_t step = progress.step();
  if (history.last_step() > step) {
    step = history.last_step();
    loss = absl::StrFormat("%.4f", history.steps().rbegin()->second.loss());
  }
  return absl::StrFormat(
      "%-24s %-14s %-9s %-14s %-9s %s\n", job.name, StateOf(job, live),
      absl::StrCat(job.status.workers().ready(), "/",
                   std::max(job.status.workers().desired(), job.spec.workers().count())),
      absl::StrCat(step, "/", job.spec.trainer().train().steps()), loss,
      OrDash(job.status.checkpoint().uri()));
}

absl::StatusOr<TrainingJob> Load(const JobPaths& paths, bool& live,
                                 std::unique_ptr<History>& history) {
  live = FindLiveOperator(FileSystem(), paths).has_value();
  auto loaded = History::Load(FileSystem(), paths.history());
  if (!loaded.ok()) return loaded.status();
  history = *std::move(loaded);
  return ReadJob(paths);
}

// Prints one row per job, or the error if a job cannot be read.
void PrintTable(const std::vector<JobPaths>& all) {
  std::printf("%-24s %-14s %-9s %-14s %-9s %s\n", "NAME", "STATE", "WORKERS", "STEP", "LOSS",
              "CHECKPOINT");
  for (const JobPaths& paths : all) {
    bool live = false;
    std::unique_ptr<History> history;
    const auto job = Load(paths, live, history);
    if (job.ok()) {
      std::printf("%s", Row(*job, live, *history).c_str());
    } else {
      std::printf("%-24s %s\n", paths.job.c_str(), std::string(job.status().message()).c_str());
    }
  }
}

// Selects the form of printed objects: unchanged, or with secrets redacted for others.
enum class Secrets { kShown, kRedacted };

int PrintJson(const std::vector<JobPaths>& all, Secrets secrets) {
  Json items = Json::array();
  for (const JobPaths& paths : all) {
    const absl::StatusOr<TrainingJob> job = ReadJob(paths);
    if (!job.ok()) return Fail(job.status());
    items.push_back(control::ToJson(*job));
    if (secrets == Secrets::kRedacted) control::RedactEnvironment(items.back());
  }
  const Json out = all.size() == 1 ? items[0] : Json({{"kind", "List"}, {"items", items}});
  std::printf("%s\n", DumpJson(out, 2).c_str());
  return kExitOk;
}

void PrintConditions(const TrainingJob& job) {
  std::printf("\nConditions:\n");
  for (const auto& c : job.status.conditions()) {
    std::printf("  %-14s %-8s %-22s %s  %s\n", c.type().c_str(), c.status().c_str(),
                c.reason().c_str(), c.last_transition_time().c_str(), c.message().c_str());
  }
}

void PrintFailures(const TrainingJob& job) {
  const auto& failures = job.status.failures();
  const auto& latest = failures.latest();
  if (failures.count() == 0 && failures.ignored() == 0) return;
  std::printf("Failures:    %d, and %d not counted; the latest: worker %d, %s, rule %s: %s\n",
              failures.count(), failures.ignored(), latest.worker(), latest.class_().c_str(),
              latest.rule().c_str(), latest.action().c_str());
  if (failures.has_evidence()) std::printf("  the first: %s\n", failures.evidence().c_str());
}

void PrintDetails(const TrainingJob& job, bool live, const History& history) {
  const auto& status = job.status;
  std::printf("Name:        %s\n", job.name.c_str());
  std::printf("State:       %s\n", StateOf(job, live).c_str());
  std::printf("Workers:     %d ready of %d\n", status.workers().ready(),
              status.workers().desired());
  std::printf("Round:       %ld (term %ld)\n", static_cast<long>(status.round()),
              static_cast<long>(status.term()));
  std::printf("Step:        %ld of %ld\n",
              static_cast<long>(std::max(history.last_step(), status.progress().step())),
              static_cast<long>(job.spec.trainer().train().steps()));
  if (!history.steps().empty()) {
    std::printf("Loss:        %.4f\n", history.steps().rbegin()->second.loss());
    std::printf("Tokens/s:    %s\n", Short(history.tokens_per_second()).c_str());
  }
  if (status.checkpoint().has_step()) {
    const std::string every = status.checkpoint().has_interval()
                                  ? absl::StrCat(", about every ", status.checkpoint().interval())
                                  : "";
    std::printf("Checkpoint:  step %ld, %s%s\n", static_cast<long>(status.checkpoint().step()),
                status.checkpoint().uri().c_str(), every.c_str());
  }
  if (status.has_resume()) {
    const v1alpha1::ResumeStatus& resume = status.resume();
    std::printf("Went on:     from %s, step %ld, in round %ld; %s moved in %.3g s\n",
                resume.source().c_str(), static_cast<long>(resume.step()),
                static_cast<long>(resume.round()), ByteText(resume.bytes()).c_str(),
                resume.seconds());
  }
  PrintFailures(job);
  PrintConditions(job);
  const std::string curve = LossCurveBraille(history.Curve(), 60, 8);
  if (!curve.empty()) std::printf("\nLoss:\n%s", curve.c_str());
}

}  // namespace

std::vector<FlagSpec> GetFlags() {
  return {{"state-dir", "where jobs keep their state"},
          {"json", "print the objects as JSON", /*is_switch=*/true}};
}

int GetMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, GetFlags());
  if (!flags.ok()) return Fail(flags.status());
  const auto root = StateRoot(flags->Get("state-dir", ""));
  if (!root.ok()) return Fail(root.status());
  std::vector<JobPaths> all;
  if (!flags->positional().empty()) {
    const auto paths = FindJob(FileSystem(), *root, flags->positional()[0]);
    if (!paths.ok()) return Fail(paths.status());
    if (const auto job = ReadJob(*paths); !job.ok()) return Fail(job.status());
    all.push_back(*paths);
  } else {
    const auto jobs = LocalJobs(FileSystem(), *root);
    if (!jobs.ok()) return Fail(jobs.status());
    for (const std::string& job : *jobs) all.push_back({*root, job});
  }
  if (flags->Has("json")) return PrintJson(all, Secrets::kShown);
  if (all.empty()) {
    std::printf("no jobs in %s\n", root->c_str());
    return kExitOk;
  }
  PrintTable(all);
  return kExitOk;
}

int DescribeMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, GetFlags());
  if (!flags.ok()) return Fail(flags.status());
  const auto root = StateRoot(flags->Get("state-dir", ""));
  if (!root.ok()) return Fail(root.status());
  const auto paths =
      FindJob(FileSystem(), *root, flags->positional().empty() ? "" : flags->positional()[0]);
  if (!paths.ok()) return Fail(paths.status());
  if (flags->Has("json")) return PrintJson({*paths}, Secrets::kRedacted);
  bool live = false;
  std::unique_ptr<History> history;
  const auto job = Load(*paths, live, history);
  if (!job.ok()) return Fail(job.status());
  PrintDetails(*job, live, *history);
  return kExitOk;
}

}  // namespace muster::cli
