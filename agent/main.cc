// muster-agent: the entry point of a worker's container. `muster-agent install FOLDER` copies this
// program for containers whose image does not have it, and does nothing else.
//
// Start order:
//   1. block SIGTERM and SIGINT and turn them into a descriptor, before any thread is started
//   2. become the reaper of processes whose parents end
//   3. flags, whose defaults come from the environment that the operator gives the pod
//   4. for a worker with GPUs: find them, which takes a driver that is not loaded yet some seconds
//   5. run until the worker's work is done, a stop is ordered, or no operator is left
//   6. write the exit file, for a LocalNodes that was restarted and finds this process gone
//
// Exit codes: base/exit_codes.h; a failed rank's own code when it failed the job.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/hardware/machine_reader.h"
#include "agent/hardware/sysfs_tree.h"
#include "agent/own_gpus.h"
#include "agent/worker/install.h"
#include "agent/worker/ranks/near_cpus.h"
#include "agent/worker/ranks/rank_environment.h"
#include "agent/worker/ranks/socket_folder.h"
#include "agent/worker/stream/unsent_reports.h"
#include "agent/worker/worker_agent.h"
#include "agent/worker/worker_flags.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/files/private_files.h"
#include "base/json.h"
#include "base/logging.h"
#include "base/process/process.h"
#include "base/process/stop_signals.h"

namespace muster::agent {
namespace {

void Show(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

// Without an operator the next command takes them in.
void KeepUnsent(const std::string& path, const std::vector<v1alpha1::AgentMessage>& reports) {
  if (reports.empty()) return;
  const absl::Status status = WriteUnsentReports(PrivateFileSystem(), path, reports);
  if (!status.ok()) MUSTER_LOG(ERROR, "unsent reports not written", {"error", status});
}

std::string BesideExitFile(const std::string& exit_file) {
  return exit_file.empty() ? "" : JoinPath(ParentPath(exit_file), kUnsentReportsFile);
}

int Run(WorkerAgentOptions options, const std::string& unsent_file) {
  // An operator on another machine keeps counting while this machine is suspended.
  const Clock& clock = options.config.shares_machine ? Clock::Real() : Clock::Boot();
  WorkerAgent agent(std::move(options), clock, ProcessLauncher::Real(), PrivateFileSystem());
  std::optional<int> code;
  while (!code.has_value()) {
    code = agent.RunOnce(absl::Milliseconds(100));
    FlushLimitedLogs();
  }
  FlushLimitedLogs(/*all=*/true);
  if (!unsent_file.empty()) KeepUnsent(unsent_file, agent.TakeUnsent());
  return *code;
}

void WriteExitFile(const std::string& path, int code) {
  const Json exit = {{"exitCode", code}, {"pid", getpid()}};
  const absl::Status status = WriteFileAtomically(PrivateFileSystem(), path, DumpJson(exit));
  if (!status.ok()) MUSTER_LOG(ERROR, "exit file not written", {"error", status});
}

int BadInput(const absl::Status& status) {
  const std::string message(status.message());
  std::fprintf(stderr, "muster-agent: %s\n%s", message.c_str(), kWorkerUsage);
  return kExitBadInput;
}

WorkerHardware ReadHardware(const std::string& nvml) {
  WorkerHardware hardware{.gpus = ReadOwnGpus(nvml),
                          .numa_nodes = ReadNumaNodes(SysfsTree("/sys")),
                          .cpus = AllowedCpus()};
  MUSTER_LOG(INFO, "GPUs of this worker", {"found", hardware.gpus.devices.size()},
             {"driver", hardware.gpus.driver_version}, {"absence", hardware.gpus.absence});
  return hardware;
}

int Install(const std::string& folder) {
  const absl::Status installed = InstallAgent("/proc/self/exe", folder);
  if (installed.ok()) return 0;
  std::fprintf(stderr, "muster-agent: %s\n", std::string(installed.message()).c_str());
  return kExitFailed;
}

int Main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "install") return Install(argv[2]);
  std::signal(SIGHUP, SIG_IGN);
  const StopSignals signals;                                                              // 1
  prctl(PR_SET_CHILD_SUBREAPER, 1);                                                       // 2
  const absl::StatusOr<Flags> flags = ParseWorkerFlags(argc, argv, EnvironmentVariable);  // 3
  if (!flags.ok()) return BadInput(flags.status());
  absl::StatusOr<WorkerAgentOptions> options = ToWorkerAgentOptions(*flags);
  if (!options.ok()) return BadInput(options.status());
  options->signal_fd = signals.NewDescriptor();
  options->environment = InheritedEnvironment(environ);
  options->show = Show;
  if (!options->log_directory.empty()) {
    PrivateFileSystem()
        .MakeDirectories(options->log_directory)
        .IgnoreError();  // it logs its own errors
  }
  const SocketFolder sockets(options->log_directory, EnvironmentVariable("TMPDIR"));
  options->socket_directory = sockets.path();
  if (options->gpus > 0) options->hardware = ReadHardware(options->nvml);  // 4
  const std::string& exit_file = flags->at("exit-file");
  const int code = Run(*std::move(options), BesideExitFile(exit_file));  // 5
  if (!exit_file.empty()) WriteExitFile(exit_file, code);                // 6
  return code;
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) {
  const int code = muster::agent::Main(argc, argv);
  std::fflush(nullptr);
  _exit(code);  // skips destructors of statics that gRPC's threads still use
}
