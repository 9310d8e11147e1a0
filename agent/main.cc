// muster-agent: the entry point of a worker's container.
//
// Start order:
//   1. block SIGTERM and SIGINT and turn them into a descriptor, before any thread is started
//   2. become the reaper of processes whose parents end
//   3. flags, whose defaults come from the environment that the operator gives the pod
//   4. run until the worker's work is done, it is told to end, or no operator is left
//   5. write the exit file, for whoever starts again and finds this process gone
//
// Exit codes: base/exit_codes.h; a failed rank's own code when the job failed by it.
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "agent/worker/worker_agent.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/files.h"
#include "base/json.h"
#include "base/logging.h"
#include "base/process.h"

namespace {

using Flags = std::map<std::string, std::string>;

constexpr char kUsage[] =
    "usage: muster-agent worker --coordinator=ADDRESS[,ADDRESS] --trainer=PATH [--NAME=VALUE ...]\n"
    "names: coordinator trainer namespace job job-uid index incarnation pod-uid ranks host "
    "log-dir\n"
    "       exit-file orphan-deadline; each defaults to the environment's MUSTER_NAME\n";

std::string Env(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

Flags Defaults() {
  const std::string index = Env("MUSTER_INDEX");
  return {{"coordinator", Env("MUSTER_COORDINATOR")},
          {"trainer", Env("MUSTER_TRAINER")},
          {"namespace", Env("MUSTER_NAMESPACE")},
          {"job", Env("MUSTER_JOB")},
          {"job-uid", Env("MUSTER_JOB_UID")},
          {"index", index.empty() ? Env("MUSTER_WORKER_INDEX") : index},
          {"incarnation", Env("MUSTER_INCARNATION")},
          {"pod-uid", Env("MUSTER_POD_UID")},
          {"ranks", Env("MUSTER_RANKS")},
          {"host", Env("MUSTER_POD_IP")},
          {"log-dir", Env("MUSTER_LOG_DIR")},
          {"exit-file", Env("MUSTER_EXIT_FILE")},
          {"orphan-deadline", Env("MUSTER_ORPHAN_DEADLINE")}};
}

// The flags, or what is wrong with them.
std::optional<std::string> Parse(int argc, char** argv, Flags* flags) {
  if (argc < 2 || std::string_view(argv[1]) != "worker") return "the first argument must be worker";
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    if (argument.compare(0, 2, "--") != 0 || equals == std::string::npos) {
      return argument + ": wants --NAME=VALUE";
    }
    const auto it = flags->find(argument.substr(2, equals - 2));
    if (it == flags->end()) return argument + ": no such flag";
    it->second = argument.substr(equals + 1);
  }
  if (flags->at("coordinator").empty()) return "--coordinator is missing";
  return std::nullopt;
}

int ToInt(const std::string& text, int otherwise) {
  int value = otherwise;
  return absl::SimpleAtoi(text, &value) ? value : otherwise;
}

std::string HostName(const Flags& flags) {
  if (!flags.at("host").empty()) return flags.at("host");
  if (flags.at("coordinator").compare(0, 5, "unix:") == 0) return "127.0.0.1";
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

muster::agent::WorkerAgentOptions ToOptions(const Flags& flags, int signal_fd) {
  muster::agent::WorkerAgentOptions options;
  auto& worker = options.config.worker;
  worker.set_namespace_(flags.at("namespace"));
  worker.set_job(flags.at("job"));
  worker.set_job_uid(flags.at("job-uid"));
  worker.set_index(ToInt(flags.at("index"), 0));
  worker.set_incarnation(ToInt(flags.at("incarnation"), 0));
  worker.set_pod_uid(flags.at("pod-uid"));
  options.config.ranks = std::max(1, ToInt(flags.at("ranks"), 1));
  options.config.host = HostName(flags);
  options.config.version = "v1alpha1";
  absl::Duration orphan_deadline;
  if (absl::ParseDuration(flags.at("orphan-deadline"), &orphan_deadline)) {
    options.config.orphan_deadline = orphan_deadline;
  }
  options.coordinators = absl::StrSplit(flags.at("coordinator"), ',', absl::SkipEmpty());
  options.trainer_path = flags.at("trainer");
  options.log_directory = flags.at("log-dir");
  options.signal_fd = signal_fd;
  options.environment = muster::agent::InheritedEnvironment(environ);
  options.show = [](std::string_view line) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
  };
  return options;
}

int SignalDescriptor() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

int main(int argc, char** argv) {
  const int signal_fd = SignalDescriptor();  // 1
  prctl(PR_SET_CHILD_SUBREAPER, 1);          // 2
  Flags flags = Defaults();                  // 3
  if (const auto problem = Parse(argc, argv, &flags)) {
    std::fprintf(stderr, "muster-agent: %s\n%s", problem->c_str(), kUsage);
    return muster::kExitBadInput;
  }
  muster::Files& files = muster::FileSystem();
  if (!flags["log-dir"].empty()) files.MakeDirectories(flags["log-dir"]).IgnoreError();
  std::optional<int> code;  // 4
  {
    muster::agent::WorkerAgent agent(ToOptions(flags, signal_fd), muster::Clock::Real(),
                                     muster::ProcessLauncher::Real(), files);
    while (!code.has_value()) code = agent.RunOnce(absl::Milliseconds(100));
  }
  if (!flags["exit-file"].empty()) {  // 5
    const muster::Json exit = {{"exitCode", *code}, {"pid", getpid()}};
    const absl::Status status =
        muster::WriteFileAtomically(files, flags["exit-file"], muster::DumpJson(exit));
    if (!status.ok()) MUSTER_LOG(ERROR, "exit file not written", {"error", status});
  }
  return *code;
}
