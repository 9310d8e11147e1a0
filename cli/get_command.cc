// `muster get`, `muster describe` and `muster events`: show jobs to people.

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/flags/flags.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/agent_records.h"
#include "cli/jobs/history.h"
#include "cli/jobs/local_jobs.h"
#include "cli/jobs/loss_curve.h"
#include "cli/show/event_table.h"
#include "cli/show/job_description.h"
#include "cli/show/job_table.h"
#include "operator/api/redact.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

// A local job, with the steps that its `muster run` wrote down.
struct Loaded {
  LocalObjects objects;
  bool live = false;
  std::unique_ptr<History> history;
};

// The status tells progress every ten seconds, and the history every step.
void BringUpToDate(const History& history, v1alpha1::ProgressStatus& progress) {
  if (history.steps().empty() || history.last_step() < progress.step()) return;
  const v1alpha1::StepReport& last = history.steps().rbegin()->second;
  progress.set_step(history.last_step());
  progress.set_loss(last.loss());
  if (const auto validation = history.last_validation_loss()) {
    progress.set_validation_loss(*validation);
  }
  if (!progress.has_tokens_per_second() && history.tokens_per_second() > 0) {
    progress.set_tokens_per_second(history.tokens_per_second());
  }
}

absl::StatusOr<Loaded> Load(const JobPaths& paths) {
  Loaded loaded;
  loaded.live = FindLiveOperator(FileSystem(), paths).has_value();
  MUSTER_ASSIGN_OR_RETURN(loaded.history, History::Load(FileSystem(), paths.history()));
  MUSTER_ASSIGN_OR_RETURN(loaded.objects, ReadObjects(paths));
  const AgentRecords records = ReadAgentRecords(FileSystem(), paths);
  MUSTER_RETURN_IF_ERROR(AddTo(*loaded.history, records));
  ShowIn(loaded.objects.job, records);
  BringUpToDate(*loaded.history, *loaded.objects.job.status.mutable_progress());
  return loaded;
}

absl::Time Now() { return Clock::Real().Wall(); }

// Prints one row per job, and then what is wrong with those that cannot be read.
void PrintTable(const std::vector<JobPaths>& all) {
  std::vector<TrainingJob> jobs;
  std::string unreadable;
  for (const JobPaths& paths : all) {
    absl::StatusOr<Loaded> loaded = Load(paths);
    if (!loaded.ok()) {
      absl::StrAppend(&unreadable, paths.job, ": ", loaded.status().message(), "\n");
      continue;
    }
    TrainingJob job = std::move(loaded->objects.job);
    job.status.set_state(DescribeState(job, loaded->live));
    jobs.push_back(std::move(job));
  }
  if (!jobs.empty()) std::printf("%s", JobTable(jobs, /*with_namespace=*/false, Now()).c_str());
  std::printf("%s", unreadable.c_str());
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

void PrintDescription(Loaded loaded) {
  const TrainingJob& job = loaded.objects.job;
  JobSurroundings around;
  around.pods = std::move(loaded.objects.pods);
  around.events = std::move(loaded.objects.events);
  around.has_operator = loaded.live;
  const auto& steps = loaded.history->steps();
  if (!steps.empty()) around.last_step = steps.rbegin()->second;
  std::printf("%s", DescribeJob(job, around, Now()).c_str());
  const std::string curve = LossCurveBraille(loaded.history->Curve(), 60, 8);
  if (!curve.empty()) std::printf("\nLoss:\n%s", curve.c_str());
}

// Returns the one job that the arguments name, or the only one that there is.
absl::StatusOr<JobPaths> WantedJob(const Flags& flags) {
  MUSTER_ASSIGN_OR_RETURN(const std::string root, StateRoot(flags.Get("state-dir", "")));
  MUSTER_ASSIGN_OR_RETURN(const std::string name, flags.OnePositional());
  return FindJob(FileSystem(), root, name);
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
  const auto name = flags->OnePositional();
  if (!name.ok()) return Fail(name.status());
  std::vector<JobPaths> all;
  if (!name->empty()) {
    const auto paths = FindJob(FileSystem(), *root, *name);
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
  const auto paths = WantedJob(*flags);
  if (!paths.ok()) return Fail(paths.status());
  if (flags->Has("json")) return PrintJson({*paths}, Secrets::kRedacted);
  absl::StatusOr<Loaded> loaded = Load(*paths);
  if (!loaded.ok()) return Fail(loaded.status());
  PrintDescription(*std::move(loaded));
  return kExitOk;
}

int EventsMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, GetFlags());
  if (!flags.ok()) return Fail(flags.status());
  const auto paths = WantedJob(*flags);
  if (!paths.ok()) return Fail(paths.status());
  const absl::StatusOr<LocalObjects> objects = ReadObjects(*paths);
  if (!objects.ok()) return Fail(objects.status());
  const std::vector<std::string> pods = NamesOf(objects->pods);
  if (flags->Has("json")) {
    const Json items = EventsAbout(objects->events, objects->job.name, pods);
    std::printf("%s\n", DumpJson({{"kind", "List"}, {"items", items}}, 2).c_str());
    return kExitOk;
  }
  const std::string table = EventTable(objects->events, objects->job.name, pods, Now());
  if (table.empty()) std::fprintf(stderr, "no events about job %s\n", objects->job.name.c_str());
  std::printf("%s", table.c_str());
  return kExitOk;
}

}  // namespace muster::cli
