// `muster run` and `muster resume`: run one job on this machine, from start to summary.

#include <sys/ioctl.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "cli/cluster_job.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/job_removal.h"
#include "cli/job_words.h"
#include "cli/local_jobs.h"
#include "cli/loss_curve.h"
#include "cli/rank_output.h"
#include "cli/reapply.h"
#include "cli/run_session.h"
#include "cli/script_hashes.h"
#include "cli/summary.h"
#include "cli/worker_program.h"
#include "operator/api/manifest.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

constexpr absl::Duration kPoll = absl::Milliseconds(100);
// The limit for workers that were told to stop; the job is over, so they have nothing left to save.
constexpr absl::Duration kLeave = absl::Seconds(10);
constexpr absl::Duration kPlainLineEvery = absl::Seconds(5);

volatile std::sig_atomic_t interrupts = 0;

void OnInterrupt(int) { interrupts = interrupts + 1; }

// The flags that run and resume share.
std::vector<FlagSpec> SessionFlags() {
  return {
      {"state-dir", "where jobs keep their state"},
      {"agent", "path of muster-agent"},
      {"trainer", "path of muster-trainer"},
      {"http",
       "a port of 127.0.0.1 to serve metrics, health and JSON on, to who has the token in the "
       "job's "
       "http.token; else a socket for this user alone"},
      {"quiet", "no progress lines", /*is_switch=*/true},
  };
}

int TerminalColumns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

// Redraws one line on a terminal; elsewhere prints a line every few seconds and on a change.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

  void Show(const ProgressView& view, absl::Time now) {
    if (quiet_) return;
    if (terminal_) {
      std::fprintf(stderr, "\r\033[K%s", TerminalLine(view, TerminalColumns() - 1).c_str());
      std::fflush(stderr);
      drawn_ = true;
      return;
    }
    const bool same = view.state == last_state_ && view.why == last_why_;
    if (same && (now - last_ < kPlainLineEvery || view.step == last_step_)) return;
    std::fprintf(stderr, "%s\n", PlainLine(view).c_str());
    last_ = now;
    last_state_ = view.state;
    last_why_ = view.why;
    last_step_ = view.step;
  }
  // Called before anything else is printed.
  void Clear() {
    if (drawn_) std::fprintf(stderr, "\r\033[K");
    drawn_ = false;
  }

 private:
  const bool quiet_;
  const bool terminal_;
  bool drawn_ = false;
  absl::Time last_ = absl::InfinitePast();
  std::string last_state_;
  std::string last_why_;
  int64_t last_step_ = -1;
};

bool IsOver(const std::string& state) {
  return state == "Succeeded" || state == "Failed" || state == "Suspended";
}

// Paths are relative to the user's working directory, but the workers run elsewhere.
void MakePathsAbsolute(const JobPaths& paths, TrainingJob& job) {
  auto& spec = job.spec;
  if (!spec.has_trainer()) {
    if (!spec.has_checkpoint()) return;
    return spec.mutable_checkpoint()->set_uri(Absolute(spec.checkpoint().uri()));
  }
  auto& data = *spec.mutable_trainer()->mutable_data();
  if (data.has_uri()) data.set_uri(Absolute(data.uri()));
  if (data.tokenizer().has_uri()) {
    data.mutable_tokenizer()->set_uri(Absolute(data.tokenizer().uri()));
  }
  auto& checkpoint = *spec.mutable_checkpoint();
  checkpoint.set_uri(checkpoint.has_uri() ? Absolute(checkpoint.uri()) : paths.checkpoints());
}

// Returns the condition that the job's state is named after.
const v1alpha1::Condition* FinalCondition(const TrainingJob& job) {
  for (const auto& condition : job.status.conditions()) {
    if (condition.type() == job.status.state() && condition.status() == "True") return &condition;
  }
  return nullptr;
}

std::string MessageOf(const TrainingJob& job) {
  const v1alpha1::Condition* condition = FinalCondition(job);
  return condition == nullptr ? "" : absl::StrCat(condition->reason(), ": ", condition->message());
}

// Returns what a stalled job waits for somebody to do; empty if it does not wait.
std::string WaitsFor(const TrainingJob& job) {
  for (const auto& condition : job.status.conditions()) {
    if (condition.type() != "Running" || condition.status() != "False") continue;
    const std::string& reason = condition.reason();
    if (absl::StartsWith(reason, "Checkpoint") || reason == "LastStepNotSaved") {
      return absl::StrCat(reason, ": ", condition.message());
    }
  }
  return "";
}

// The start of Watch, on both clocks.
struct WatchStart {
  absl::Time wall = Clock::Real().Wall();
  absl::Time monotonic = Clock::Real().Monotonic();
};

double WallSeconds(const TrainingJob& job, const WatchStart& watch, absl::Time over) {
  const auto start = control::ParseTimestamp(job.status.start_time());
  const auto end = control::ParseTimestamp(job.status.completion_time());
  if (!start.ok()) return 0;
  return JobSeconds(*start, end.ok() ? *end : absl::InfiniteFuture(), watch.wall,
                    over - watch.monotonic);
}

// Writes the curve beside the checkpoint, and prints it and the table.
absl::Status PrintSummary(const TrainingJob& job, const History& history, double wall_seconds) {
  RunFacts facts;
  facts.job = job.name;
  facts.state = job.status.state();
  facts.message = facts.state == "Failed" ? MessageOf(job) : "";
  facts.steps = job.spec.trainer().train().steps();
  facts.wall_seconds = wall_seconds;
  facts.rounds = static_cast<int>(job.status.round());
  if (job.status.checkpoint().has_step()) {
    facts.checkpoint =
        JoinPath(job.status.checkpoint().uri(), CheckpointName(job.status.checkpoint().step()));
  }
  if (!history.steps().empty() && job.spec.has_checkpoint()) {
    const std::string directory = job.spec.checkpoint().uri();
    MUSTER_RETURN_IF_ERROR(FileSystem().MakeDirectories(directory));
    facts.curve = JoinPath(directory, "loss.svg");
    const auto entropy = history.unigram_entropy();
    MUSTER_RETURN_IF_ERROR(
        WriteFileAtomically(FileSystem(), facts.curve,
                            LossCurveSvg(history.Curve(), job.name, entropy, "unigram entropy")));
  }
  std::printf("\n%s\n%s", LossCurveBraille(history.Curve(), 70, 10).c_str(),
              SummaryTable(facts, history).c_str());
  return absl::OkStatus();
}

// Reports that nothing ran, so there is no summary.
int TellEndedBefore(const TrainingJob& job) {
  std::printf(
      "job %s had come to its end before: Succeeded. Nothing was run now.\n"
      "to run it anew: muster run --fresh; what it left: muster describe %s\n",
      job.name.c_str(), job.name.c_str());
  return kExitOk;
}

int TellItNeverFits(const TrainingJob& job, const std::string& why) {
  std::fprintf(stderr,
               "muster: job %s can never run on this machine: %s\n"
               "muster: nothing was started; change what it asks for, or run it on a cluster\n",
               job.name.c_str(), why.c_str());
  return kExitDoesNotFit;
}

// Names the newest complete checkpoint, from which the job resumes.
int TellStoppedAtOnce(const TrainingJob& job) {
  std::string kept;
  if (job.spec.has_trainer() && job.spec.has_checkpoint()) {
    const std::string& directory = job.spec.checkpoint().uri();
    const auto listed = ListCheckpoints(FileSystem(), directory);
    const bool any = listed.ok() && !listed->empty() && listed->front().complete;
    kept = any ? absl::StrCat("; the newest whole checkpoint is ",
                              JoinPath(directory, listed->front().directory))
               : "; no checkpoint is whole, so training would begin anew";
  }
  std::fprintf(stderr, "muster: stopped at once%s\ngo on with: muster resume %s\n", kept.c_str(),
               job.name.c_str());
  return kExitSignalBase + SIGINT;
}

int Finish(const TrainingJob& job, const History& history, double wall_seconds) {
  const std::string& state = job.status.state();
  if (job.spec.has_trainer()) {
    // The job's result counts, even if its curve could not be written.
    const absl::Status status = PrintSummary(job, history, wall_seconds);
    if (!status.ok()) Fail(status);
  } else {
    std::printf("job %s: %s\n", job.name.c_str(), state.c_str());
  }
  if (state == "Succeeded") return kExitOk;
  if (state == "Suspended") {
    std::printf("\ngo on with: muster resume %s\n", job.name.c_str());
    return interrupts > 0 ? kExitSignalBase + SIGINT : kExitStopped;
  }
  std::fprintf(stderr, "muster: job %s failed: %s\n", job.name.c_str(), MessageOf(job).c_str());
  // Later failures were caused by the first one, or have the same cause.
  if (job.status.failures().has_evidence()) {
    std::fprintf(stderr, "the first failure: %s\n", job.status.failures().evidence().c_str());
  }
  std::fprintf(stderr, "look at: muster logs %s\n", job.name.c_str());
  const v1alpha1::Condition* condition = FinalCondition(job);
  return condition != nullptr && condition->reason() == "BadInput" ? kExitBadInput : kExitFailed;
}

// Prints the output of a command's ranks. A trainer's ranks have the progress line, so only their
// warnings before training are printed.
class OutputPrinter {
 public:
  explicit OutputPrinter(RankOutput& output) : output_(output) {}

  void Show(const TrainingJob& job, ProgressPrinter& printer) {
    std::string lines = output_.TakeLines();
    if (job.spec.has_trainer()) lines = has_trained_ ? "" : WarningsAmong(lines);
    has_trained_ |= job.status.state() == "Training";
    if (lines.empty()) return;
    printer.Clear();
    std::fwrite(lines.data(), 1, lines.size(), stdout);
    std::fflush(stdout);
  }

 private:
  RankOutput& output_;
  bool has_trained_ = false;
};

// Prints each thing that the job waits for once; `told` holds the last one.
void TellWait(const TrainingJob& job, std::string& told, ProgressPrinter& printer) {
  const std::string now = WaitsFor(job);
  if (now == told) return;
  told = now;
  if (now.empty()) return;
  printer.Clear();
  std::fprintf(stderr, "muster: job %s waits: %s\n", job.name.c_str(), now.c_str());
}

// Runs until the job is over, or a second Ctrl-C.
int Watch(RunSession& session, RankOutput& output, bool quiet) {
  const WatchStart start;
  ProgressPrinter printer(quiet);
  OutputPrinter shown(output);
  bool asked_to_stop = false;
  std::string waits_for;
  while (true) {
    const absl::StatusOr<TrainingJob> job = session.Job();
    if (!job.ok()) return Fail(job.status());
    if (const absl::Status status = session.TakeSteps(); !status.ok()) return Fail(status);
    TellWait(*job, waits_for, printer);
    shown.Show(*job, printer);
    printer.Show(session.Progress(*job), Clock::Real().Monotonic());
    if (IsOver(job->status.state()) &&
        !(job->status.state() == "Suspended" && !job->spec.suspend())) {
      printer.Clear();
      const double seconds = WallSeconds(*job, start, Clock::Real().Monotonic());
      session.WaitForWorkers(kLeave);
      shown.Show(*job, printer);
      return Finish(*job, session.history(), seconds);
    }
    const std::optional<std::string> never = WhyItNeverFits(*job);
    if (never && !session.AnyWorkerIsPlaced()) {
      printer.Clear();
      return TellItNeverFits(*job, *never);
    }
    if (interrupts >= 2) {
      printer.Clear();
      session.KillWorkers();
      return TellStoppedAtOnce(*job);
    }
    if (interrupts == 1 && !asked_to_stop) {
      printer.Clear();
      std::fprintf(stderr,
                   "muster: saving a checkpoint and stopping; Ctrl-C again stops at once\n");
      if (const absl::Status status = session.SetSuspended(true); !status.ok()) return Fail(status);
      asked_to_stop = true;
    }
    absl::SleepFor(kPoll);
  }
}

absl::StatusOr<SessionOptions> FindPrograms(const Flags& flags) {
  SessionOptions options;
  options.agent = flags.Get("agent", "");
  options.trainer = flags.Get("trainer", "");
  options.http = flags.Get("http", options.http);
  if (options.agent.empty()) {
    MUSTER_ASSIGN_OR_RETURN(options.agent, FindProgram("agent", "muster-agent", "agent"));
  }
  if (options.trainer.empty()) {
    MUSTER_ASSIGN_OR_RETURN(options.trainer, FindProgram("trainer", "muster-trainer", "trainer"));
  }
  return options;
}

absl::StatusOr<std::unique_ptr<RunSession>> OpenSession(const Flags& flags, const JobPaths& paths) {
  MUSTER_ASSIGN_OR_RETURN(SessionOptions options, FindPrograms(flags));
  MUSTER_RETURN_IF_ERROR(MakeJobFolder(paths));
  MUSTER_RETURN_IF_ERROR(LogToFile(paths.log(), /*also_stderr=*/false));
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, &OnInterrupt);
  std::signal(SIGTERM, &OnInterrupt);
  return RunSession::Open(paths, std::move(options));
}

int FailToOpen(const absl::Status& status) {
  Fail(status);
  return absl::IsFailedPrecondition(status) ? kExitRefused : kExitFailed;
}

// Records the scripts, so that a changed one is not mistaken for the earlier run under this name.
void RecordScripts(TrainingJob& job) {
  if (job.spec.has_trainer()) return;
  const WorkerProgram program = ReadWorkerProgram(job.spec);
  job.annotations[kScriptsAnnotation] = ScriptHashes(
      program.words, Absolute(program.directory.empty() ? "." : program.directory), FileSystem());
}

// Removes a job so that a run can begin anew; its checkpoints are kept.
absl::Status ForgetJob(const JobPaths& paths, const TrainingJob& job) {
  if (Exists(FileSystem(), paths.folder())) {
    MUSTER_RETURN_IF_ERROR(RemoveJob(FileSystem(), paths));
  }
  if (!job.spec.has_trainer()) return absl::OkStatus();
  MUSTER_ASSIGN_OR_RETURN(const std::string aside,
                          SetCheckpointsAside(FileSystem(), job.spec.checkpoint().uri()));
  if (!aside.empty()) {
    std::fprintf(stderr, "muster: earlier checkpoints are kept in %s\n", aside.c_str());
  }
  return absl::OkStatus();
}

int RunJob(const Flags& flags, const JobPaths& paths, TrainingJob job) {
  RecordScripts(job);
  RankOutput output(FileSystem(), paths.pods());
  const auto session = OpenSession(flags, paths);
  if (!session.ok()) return FailToOpen(session.status());
  const absl::StatusOr<bool> runs = (*session)->Apply(job);
  if (!runs.ok()) return Fail(runs.status());
  if (!*runs) return TellEndedBefore(job);
  return Watch(**session, output, flags.Has("quiet"));
}

}  // namespace

std::vector<FlagSpec> RunFlags() {
  std::vector<FlagSpec> flags = SessionFlags();
  flags.push_back({"fresh",
                   "begin anew: forget the job of this name that is here; its checkpoints are kept "
                   "in a folder abandoned-... beside those to come",
                   /*is_switch=*/true});
  return flags;
}

std::vector<FlagSpec> ResumeFlags() {
  std::vector<FlagSpec> flags = ClusterFlags();
  for (const FlagSpec& flag : SessionFlags()) flags.push_back(flag);
  return flags;
}

int RunMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, RunFlags());
  if (!flags.ok()) return Fail(flags.status());
  if (flags->positional().size() != 1) {
    return Fail(absl::InvalidArgumentError("run takes one manifest: muster run FILE"));
  }
  const std::string& file = flags->positional()[0];
  const auto text = ReadFile(FileSystem(), file, control::kMaxManifestBytes + 1);
  if (!text.ok()) return Fail(absl::InvalidArgumentError(text.status().message()));
  control::ManifestResult manifest = control::ParseManifest(*text);
  if (!manifest.ok()) {
    std::fputs(control::FormatErrors(file, manifest.errors).c_str(), stderr);
    return kExitBadInput;
  }
  const auto root = StateRoot(flags->Get("state-dir", ""));
  if (!root.ok()) return Fail(root.status());
  const JobPaths paths{*root, manifest.job.name};
  MakePathsAbsolute(paths, manifest.job);
  if (flags->Has("fresh")) {
    if (const absl::Status status = ForgetJob(paths, manifest.job); !status.ok()) {
      return FailToOpen(status);
    }
  }
  return RunJob(*flags, paths, manifest.job);
}

int ResumeMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, ResumeFlags());
  if (!flags.ok()) return Fail(flags.status());
  if (NamesCluster(*flags)) return SuspendOnCluster(*flags, /*suspend=*/false);
  const auto root = StateRoot(flags->Get("state-dir", ""));
  if (!root.ok()) return Fail(root.status());
  const auto paths =
      FindJob(FileSystem(), *root, flags->positional().empty() ? "" : flags->positional()[0]);
  if (!paths.ok()) return Fail(paths.status());
  auto job = ReadJob(*paths);
  if (!job.ok()) return Fail(job.status());
  job->spec.set_suspend(false);
  return RunJob(*flags, *paths, *std::move(job));
}

}  // namespace muster::cli
