#include "cli/run/run_watch.h"

#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/flags/interrupts.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/summary.h"
#include "cli/run/run_outcome.h"
#include "cli/show/text_table.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

constexpr absl::Duration kPoll = absl::Milliseconds(100);

// A job that was resumed is called Suspended until its operator has seen that.
bool IsOver(const TrainingJob& job) {
  const std::string& state = job.status.state();
  return state == "Succeeded" || state == "Failed" || (state == "Suspended" && job.spec.suspend());
}

bool HasBegun(const TrainingJob& job) {
  const std::string& state = job.status.state();
  return state == "Training" || state == "Succeeded" || (state == "Suspended" && IsOver(job)) ||
         job.status.progress().step() > 0;
}

// Returns what a stalled job waits for somebody to do; empty if it does not wait.
std::string WaitsFor(const TrainingJob& job) {
  if (const auto unsaved = StopThatWaits(job)) {
    return absl::StrCat("StepsNotSaved: ", *unsaved, "; Ctrl-C again stops without them");
  }
  for (const auto& condition : job.status.conditions()) {
    if (condition.type() != "Running" || condition.status() != "False") continue;
    const std::string& reason = condition.reason();
    if (absl::StartsWith(reason, "Checkpoint") || reason == "LastStepNotSaved") {
      return absl::StrCat(reason, ": ", condition.message());
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<int> RunWatch::Run() {
  while (true) {
    MUSTER_ASSIGN_OR_RETURN(const std::optional<int> exit_code, RunOnce());
    if (exit_code) return *exit_code;
    absl::SleepFor(kPoll);
  }
}

absl::StatusOr<std::optional<int>> RunWatch::RunOnce() {
  MUSTER_ASSIGN_OR_RETURN(const TrainingJob job, session_.Job());
  MUSTER_RETURN_IF_ERROR(session_.TakeSteps());
  if (HasBegun(job)) Begin();
  ShowWait(job);
  ShowOutput(job);
  printer_.Show(session_.Progress(job), Clock::Real().Monotonic());
  if (IsOver(job)) return Finish(job);
  const std::optional<std::string> never = WhyItNeverFits(job);
  if (never && !session_.AnyWorkerIsPlaced()) {
    printer_.Clear();
    return ReportNeverFits(job, *never);
  }
  const int interrupts = Interrupts();
  if (interrupts >= 2) {
    printer_.Clear();
    session_.KillWorkers();
    Begin();
    return ReportStoppedAtOnce(session_.paths(), job, session_.history());
  }
  if (interrupts == 1 && !asked_to_stop_) MUSTER_RETURN_IF_ERROR(AskToStop());
  return std::nullopt;
}

void RunWatch::Begin() {
  if (const std::function<void()> begun = std::exchange(begun_, nullptr)) begun();
}

int RunWatch::Finish(const TrainingJob& job) {
  printer_.Clear();
  const double seconds = WallSeconds(job);
  session_.WaitForWorkers();
  ShowOutput(job);
  return ReportOutcome(session_.paths(), job, session_.history(), seconds,
                       /*interrupted=*/Interrupts() > 0);
}

// Prints the output of a command's ranks. A trainer's ranks have the progress line, so only their
// warnings before training are printed.
void RunWatch::ShowOutput(const TrainingJob& job) {
  std::string lines = output_.TakeLines();
  if (job.spec.has_trainer()) lines = has_trained_ ? "" : WarningsAmong(lines);
  has_trained_ |= job.status.state() == "Training";
  if (lines.empty()) return;
  printer_.Clear();
  lines = PrintableLines(std::move(lines));
  std::fwrite(lines.data(), 1, lines.size(), stdout);
  std::fflush(stdout);
}

// Prints each thing that the job waits for once.
void RunWatch::ShowWait(const TrainingJob& job) {
  const std::string now = WaitsFor(job);
  if (now == shown_wait_) return;
  shown_wait_ = now;
  if (now.empty()) return;
  printer_.Clear();
  std::fprintf(stderr, "muster: job %s waits: %s\n", job.name.c_str(), Printable(now).c_str());
}

absl::Status RunWatch::AskToStop() {
  printer_.Clear();
  std::fprintf(stderr, "muster: saving a checkpoint and stopping; Ctrl-C again stops at once\n");
  MUSTER_RETURN_IF_ERROR(session_.SetSuspended(true));
  asked_to_stop_ = true;
  return absl::OkStatus();
}

double RunWatch::WallSeconds(const TrainingJob& job) const {
  const auto start = control::ParseTimestamp(job.status.start_time());
  const auto end = control::ParseTimestamp(job.status.completion_time());
  if (!start.ok()) return 0;
  return JobSeconds(*start, end.ok() ? *end : absl::InfiniteFuture(), wall_start_,
                    Clock::Real().Monotonic() - monotonic_start_);
}

}  // namespace muster::cli
