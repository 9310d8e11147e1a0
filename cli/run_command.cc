// `muster run` and `muster resume`: run one job on this machine, from start to summary.

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/exit_codes.h"
#include "base/logging.h"
#include "base/process/process_limits.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/flags/flags.h"
#include "cli/flags/interrupts.h"
#include "cli/jobs/checkpoint_place.h"
#include "cli/jobs/cluster_job.h"
#include "cli/jobs/local_jobs.h"
#include "cli/jobs/rank_output.h"
#include "cli/jobs/reapply.h"
#include "cli/jobs/worker_program.h"
#include "cli/run/background.h"
#include "cli/run/fresh_start.h"
#include "cli/run/local_gpus.h"
#include "cli/run/run_outcome.h"
#include "cli/run/run_session.h"
#include "cli/run/run_watch.h"
#include "cli/run/template_notes.h"
#include "operator/api/manifest.h"
#include "operator/notify/receivers.h"
#include "planner/layout.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

// The flags that run and resume share.
std::vector<FlagSpec> SessionFlags() {
  return {
      {"state-dir", "where jobs keep their state"},
      {"agent", "path of muster-agent"},
      {"trainer", "path of muster-trainer"},
      {"http",
       "127.0.0.1:PORT to serve metrics, health and JSON on, for clients with the token in the "
       "job's http.token; default a socket for this user alone"},
      {"alert-receivers",
       "a file with the receivers that alert rules of the job may name; default none"},
      {"quiet", "no progress lines", /*is_switch=*/true},
      {"detach",
       "go on in the background once the job has started; what would be printed goes to run.log in "
       "the job's folder",
       /*is_switch=*/true},
  };
}

// Paths are relative to the user's working directory, but the workers run elsewhere.
void MakePathsAbsolute(const JobPaths& paths, TrainingJob& job) {
  auto& spec = job.spec;
  if (!spec.has_trainer()) {
    if (!spec.has_checkpoint()) return;
    return spec.mutable_checkpoint()->set_uri(Absolute(spec.checkpoint().uri()));
  }
  if (spec.trainer().model().has_uri()) {
    spec.mutable_trainer()->mutable_model()->set_uri(Absolute(spec.trainer().model().uri()));
  }
  if (spec.trainer().model().has_torch_script()) {
    spec.mutable_trainer()->mutable_model()->set_torch_script(
        Absolute(spec.trainer().model().torch_script()));
  }
  if (spec.trainer().parallelism().offload().has_directory()) {
    auto& offload = *spec.mutable_trainer()->mutable_parallelism()->mutable_offload();
    offload.set_directory(Absolute(offload.directory()));
  }
  if (spec.trainer().logs().has_tensor_board()) {
    auto& logs = *spec.mutable_trainer()->mutable_logs();
    logs.set_tensor_board(Absolute(logs.tensor_board()));
  }
  auto& data = *spec.mutable_trainer()->mutable_data();
  if (data.has_uri()) data.set_uri(Absolute(data.uri()));
  if (data.tokenizer().has_uri()) {
    data.mutable_tokenizer()->set_uri(Absolute(data.tokenizer().uri()));
  }
  auto& checkpoint = *spec.mutable_checkpoint();
  checkpoint.set_uri(checkpoint.has_uri() ? Absolute(checkpoint.uri()) : paths.checkpoints());
}

absl::StatusOr<SessionOptions> FindPrograms(const Flags& flags) {
  SessionOptions options;
  options.agent = flags.Get("agent", "");
  options.trainer = flags.Get("trainer", "");
  options.http = flags.Get("http", options.http);
  if (flags.Has("alert-receivers")) {
    MUSTER_ASSIGN_OR_RETURN(options.alert_receivers,
                            control::LoadReceivers(flags.Get("alert-receivers", "")));
  }
  if (options.agent.empty()) {
    MUSTER_ASSIGN_OR_RETURN(options.agent, FindProgram("agent", "muster-agent", "agent"));
  }
  if (options.trainer.empty()) {
    MUSTER_ASSIGN_OR_RETURN(options.trainer, FindProgram("trainer", "muster-trainer", "trainer"));
  }
  return options;
}

absl::StatusOr<std::unique_ptr<RunSession>> OpenSession(const JobPaths& paths,
                                                        SessionOptions options) {
  MUSTER_RETURN_IF_ERROR(MakeJobFolder(paths));
  MUSTER_RETURN_IF_ERROR(LogToFile(paths.log(), /*also_stderr=*/false));
  std::signal(SIGPIPE, SIG_IGN);
  CountInterrupts();
  return RunSession::Open(paths, std::move(options));
}

int FailToOpen(const absl::Status& status) {
  Fail(status);
  if (absl::IsInvalidArgument(status)) return kExitBadInput;
  return absl::IsFailedPrecondition(status) ? kExitRefused : kExitFailed;
}

// Records the scripts, so that a changed one is not mistaken for the earlier run under this name.
void RecordScripts(TrainingJob& job) {
  if (job.spec.has_trainer()) return;
  const WorkerProgram program = ReadWorkerProgram(job.spec);
  job.annotations[kScriptsAnnotation] = ScriptHashes(
      program.words, Absolute(program.directory.empty() ? "." : program.directory), FileSystem());
}

// The job to run, with the words of the command line.
struct Run {
  JobPaths paths;
  TrainingJob job;
  bool fresh = false;
  bool quiet = false;
  Background* background = nullptr;  // null: the command ends with the job
};

// Runs the job to its end. `fresh`: what an earlier job of the name has left; null unless the job
// begins anew.
int RunInSession(const Run& run, SessionOptions options, FreshStart* fresh) {
  for (const std::string& note : PartsWithoutEffectHere(run.job.spec)) {
    std::fprintf(stderr, "muster: %s\n", note.c_str());
  }
  RankOutput output(FileSystem(), run.paths.pods());
  const auto session = OpenSession(run.paths, std::move(options));
  if (!session.ok()) return FailToOpen(session.status());
  if (fresh != nullptr && run.job.spec.has_trainer()) {
    const absl::Status aside = fresh->SetAside(PlaceOf(run.job));
    if (!aside.ok()) return FailToOpen(aside);
  }
  if (const auto before = ReadJob(run.paths); before.ok()) {
    ReportTrainedAgain(*before, (*session)->history());
  }
  const absl::StatusOr<bool> runs = (*session)->Apply(run.job);
  if (!runs.ok()) return Fail(runs.status());
  if (!*runs) {
    // The run that ended it may have been killed before its workers had ended.
    (*session)->WaitForWorkers();
    return ReportEndedBefore(run.paths);
  }
  if (run.background != nullptr) {
    const absl::Status begun = run.background->Begin(run.paths.run_log());
    if (!begun.ok()) return Fail(begun);
  }
  RunWatch watch(**session, output, run.quiet);
  if (fresh != nullptr) watch.OnceItTrains([fresh] { fresh->Commit(); });
  const absl::StatusOr<int> exit_code = watch.Run();
  return exit_code.ok() ? *exit_code : Fail(exit_code.status());
}

// Measured with two CPUs: this process has 70 threads, an agent 11 and a trainer 9.
ProcessRoom RoomFor(const v1alpha1::TrainingJobSpec& spec) {
  const int64_t workers = std::max(1, spec.workers().count());
  const int64_t own = 64 + 4 * int64_t{std::thread::hardware_concurrency()};
  return {.open_files = 256,
          .processes = own + 16 * workers * (1 + planner::RanksOf(spec.workers()))};
}

// All that can be refused before anything is changed is refused here.
int RunHere(const Flags& flags, Run run) {
  const absl::Status room =
      CheckProcessRoom({RaiseOpenFileLimit(), ProcessesLeft()}, RoomFor(run.job.spec));
  if (!room.ok()) return FailToOpen(room);
  RecordScripts(run.job);
  // The driver is not asked for a job that needs none of it.
  const bool wants_gpus = run.job.spec.workers().gpus() > 0;
  const agent::GpuDevices gpus = wants_gpus ? ReadLocalGpus() : agent::GpuDevices();
  if (const auto never = WhyGpusNeverFit(run.job.spec, gpus)) {
    return ReportNeverFits(run.job, *never);
  }
  absl::StatusOr<SessionOptions> options = FindPrograms(flags);
  if (!options.ok()) return FailToOpen(options.status());
  for (const agent::GpuDevice& gpu : gpus.devices) options->gpus.push_back(gpu.uuid);
  if (!run.fresh) return RunInSession(run, *std::move(options), nullptr);
  if (const absl::Status sources = CheckSources(FileSystem(), run.job); !sources.ok()) {
    return FailToOpen(sources);
  }
  const auto fresh = FreshStart::Begin(FileSystem(), run.paths);
  if (!fresh.ok()) return FailToOpen(fresh.status());
  return RunInSession(run, *std::move(options), fresh->get());
}

int RunJob(const Flags& flags, Run run) {
  if (!flags.Has("detach")) return RunHere(flags, std::move(run));
  Background background;
  const auto forked = background.Fork();
  if (!forked.ok()) return Fail(forked.status());
  if (!forked->has_value()) {
    run.background = &background;
    return RunHere(flags, std::move(run));
  }
  const Background::Parent& parent = **forked;
  if (parent.exit_code) return *parent.exit_code;
  std::printf(
      "job %s runs in the background (pid %d); its output is in %s\n"
      "look at it with: %s\nstop it with: %s\n",
      run.paths.job.c_str(), static_cast<int>(parent.child), run.paths.run_log().c_str(),
      run.paths.Hint("describe").c_str(), run.paths.Hint("stop").c_str());
  return kExitOk;
}

}  // namespace

std::vector<FlagSpec> RunFlags() {
  std::vector<FlagSpec> flags = SessionFlags();
  flags.push_back(
      {"fresh",
       "begin anew: forget an earlier job of this name; its checkpoints are kept in a folder "
       "abandoned-... beside the new ones",
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
  return RunJob(*flags, {paths, manifest.job, flags->Has("fresh"), flags->Has("quiet")});
}

int ResumeMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, ResumeFlags());
  if (!flags.ok()) return Fail(flags.status());
  if (NamesCluster(*flags)) return SuspendOnCluster(*flags, /*suspend=*/false);
  const auto root = StateRoot(flags->Get("state-dir", ""));
  if (!root.ok()) return Fail(root.status());
  const auto name = flags->OnePositional();
  if (!name.ok()) return Fail(name.status());
  const auto paths = FindJob(FileSystem(), *root, *name);
  if (!paths.ok()) return Fail(paths.status());
  auto job = ReadJob(*paths);
  if (!job.ok()) return Fail(job.status());
  job->spec.set_suspend(false);
  return RunJob(*flags, {*paths, *std::move(job), /*fresh=*/false, flags->Has("quiet")});
}

}  // namespace muster::cli
