#include "agent/worker/worker_flags.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "agent/worker/stream/coordinator_client.h"
#include "base/net/unix_socket.h"
#include "base/status_macros.h"
#include "base/version.h"

namespace muster::agent {
namespace {

Flags Defaults(const EnvironmentLookup& env) {
  Flags defaults;
  for (const WorkerFlag& flag : WorkerFlags()) defaults[flag.name] = env(flag.variable);
  // The operator gives a pod its index under this name.
  std::string& index = defaults["index"];
  if (index.empty()) index = env("MUSTER_WORKER_INDEX");
  return defaults;
}

// Empty text means `otherwise`.
absl::StatusOr<int> Number(const Flags& flags, const std::string& name, int otherwise) {
  const std::string& text = flags.at(name);
  int value = otherwise;
  if (!text.empty() && (!absl::SimpleAtoi(text, &value) || value < 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, "=", text, ": wants a number from 0"));
  }
  return value;
}

// Empty text leaves `value` unchanged.
absl::Status ReadDuration(const Flags& flags, const std::string& name, absl::Duration& value) {
  const std::string& text = flags.at(name);
  if (text.empty() || absl::ParseDuration(text, &value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", name, "=", text, ": wants a duration, as in 60s"));
}

absl::StatusOr<CoordinatorClientOptions> ToClientOptions(const Flags& flags) {
  CoordinatorClientOptions options;
  options.addresses = absl::StrSplit(flags.at("coordinator"), ',', absl::SkipEmpty());
  const bool local = std::all_of(options.addresses.begin(), options.addresses.end(), IsUnixAddress);
  const bool remote =
      std::none_of(options.addresses.begin(), options.addresses.end(), IsUnixAddress);
  if (local == remote) {
    return absl::InvalidArgumentError(
        "--coordinator: wants unix sockets or addresses of hosts, not both");
  }
  MUSTER_RETURN_IF_ERROR(ReadDuration(flags, "coordinator-silence", options.silence));
  if (local) return options;
  options.identity = {flags.at("coordinator-ca"), flags.at("coordinator-token")};
  if (options.identity.authority_pem.empty() || options.identity.token_path.empty()) {
    return absl::InvalidArgumentError(
        "a coordinator on another host needs --coordinator-ca and --coordinator-token");
  }
  return options;
}

std::string HostName(const Flags& flags) {
  if (!flags.at("host").empty()) return flags.at("host");
  if (IsUnixAddress(flags.at("coordinator"))) return "127.0.0.1";
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

}  // namespace

const char kWorkerUsage[] =
    "usage: muster-agent worker --coordinator=ADDRESS[,ADDRESS] --trainer=PATH [--NAME=VALUE ...]\n"
    "names: coordinator trainer namespace job job-uid index incarnation pod-uid ranks gpus nvml "
    "host log-dir\n"
    "       exit-file orphan-deadline coordinator-ca (PEM) coordinator-token (file)\n"
    "       coordinator-silence pod-grace; each defaults to a variable, mostly MUSTER_NAME: "
    "docs/cli.md\n"
    "usage: muster-agent install FOLDER   copies this program there\n";

const std::vector<WorkerFlag>& WorkerFlags() {
  static const auto* flags = new std::vector<WorkerFlag>{
      {"coordinator", "MUSTER_COORDINATOR",
       "where the operator's coordinators listen: ADDRESS[,ADDRESS], all unix:/PATH or all "
       "HOST:PORT; required"},
      {"coordinator-ca", "MUSTER_COORDINATOR_CA",
       "the authority of a coordinator on another host: the PEM itself"},
      {"coordinator-token", "MUSTER_COORDINATOR_TOKEN",
       "the file with the token that proves the agent to a coordinator on another host"},
      {"coordinator-silence", "MUSTER_COORDINATOR_SILENCE",
       "a coordinator that is silent for this long is given up; default 7.5s"},
      {"trainer", "MUSTER_TRAINER", "path of muster-trainer"},
      {"namespace", "MUSTER_NAMESPACE", "the job's namespace"},
      {"job", "MUSTER_JOB", "the job's name"},
      {"job-uid", "MUSTER_JOB_UID", "the job's UID"},
      {"index", "MUSTER_INDEX",
       "the worker's index in its job; without either, $MUSTER_WORKER_INDEX, else 0"},
      {"incarnation", "MUSTER_INCARNATION",
       "the number of the worker's pod: each new pod has a higher one"},
      {"pod-uid", "MUSTER_POD_UID", "the UID of the pod that the agent runs in"},
      {"ranks", "MUSTER_RANKS", "the number of ranks to start; default 1"},
      {"gpus", "MUSTER_GPUS",
       "the number of GPUs on which the trainer's ranks compute, one each; default 0"},
      {"nvml", "MUSTER_NVML",
       "the library of NVIDIA's driver by which GPUs are found; default libnvidia-ml.so.1"},
      {"host", "MUSTER_POD_IP",
       "the address by which other workers reach this one; default 127.0.0.1 beside a coordinator "
       "of this machine, else the host name"},
      {"log-dir", "MUSTER_LOG_DIR",
       "the directory in which rank-N.log are written; without it, none are"},
      {"exit-file", "MUSTER_EXIT_FILE", "a file to write the exit code to, as JSON"},
      {"orphan-deadline", "MUSTER_ORPHAN_DEADLINE",
       "how long the worker goes on without an operator, until one sends another limit; default "
       "60s"},
      {"pod-grace", "MUSTER_POD_GRACE",
       "how long the pod may take to end once it is told to, which bounds a last checkpoint; "
       "without "
       "it, a checkpoint may take 15s, and a command's end 5s"}};
  return *flags;
}

absl::StatusOr<Flags> ParseWorkerFlags(int argc, const char* const* argv,
                                       const EnvironmentLookup& environment) {
  if (argc < 2 || std::string(argv[1]) != "worker") {
    return absl::InvalidArgumentError("the first argument must be worker");
  }
  Flags flags = Defaults(environment);
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    if (argument.compare(0, 2, "--") != 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError(argument + ": wants --NAME=VALUE");
    }
    const auto it = flags.find(argument.substr(2, equals - 2));
    if (it == flags.end()) return absl::InvalidArgumentError(argument + ": no such flag");
    it->second = argument.substr(equals + 1);
  }
  if (flags.at("coordinator").empty()) {
    return absl::InvalidArgumentError("--coordinator is missing");
  }
  return flags;
}

absl::StatusOr<WorkerAgentOptions> ToWorkerAgentOptions(const Flags& flags) {
  WorkerAgentOptions options;
  v1alpha1::WorkerId& worker = options.config.worker;
  worker.set_namespace_(flags.at("namespace"));
  worker.set_job(flags.at("job"));
  worker.set_job_uid(flags.at("job-uid"));
  worker.set_pod_uid(flags.at("pod-uid"));
  MUSTER_ASSIGN_OR_RETURN(const int index, Number(flags, "index", 0));
  MUSTER_ASSIGN_OR_RETURN(const int incarnation, Number(flags, "incarnation", 0));
  MUSTER_ASSIGN_OR_RETURN(options.config.ranks, Number(flags, "ranks", 1));
  worker.set_index(index);
  worker.set_incarnation(incarnation);
  if (options.config.ranks == 0) return absl::InvalidArgumentError("--ranks=0: wants at least 1");
  options.config.host = HostName(flags);
  options.config.version = kVersion;
  MUSTER_RETURN_IF_ERROR(ReadDuration(flags, "orphan-deadline", options.config.orphan_deadline));
  absl::Duration pod_grace = absl::ZeroDuration();
  MUSTER_RETURN_IF_ERROR(ReadDuration(flags, "pod-grace", pod_grace));
  if (!flags.at("pod-grace").empty()) SetPodGrace(pod_grace, options.config);
  MUSTER_ASSIGN_OR_RETURN(options.coordinator, ToClientOptions(flags));
  options.config.shares_machine = options.coordinator.identity.empty();
  options.trainer_path = flags.at("trainer");
  options.log_directory = flags.at("log-dir");
  MUSTER_ASSIGN_OR_RETURN(options.gpus, Number(flags, "gpus", 0));
  options.nvml = flags.at("nvml").empty() ? "libnvidia-ml.so.1" : flags.at("nvml");
  return options;
}

}  // namespace muster::agent
