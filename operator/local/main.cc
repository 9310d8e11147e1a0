// muster-local-nodes: Nodes of a real API server whose pods run as processes on this machine.
//
// Start order:
//   1. block SIGTERM and SIGINT in every thread, so that only main receives them
//   2. flags
//   3. a client of the API server, with the rights of a node
//   4. register the nodes and adopt the processes of an earlier run
//   5. make passes until SIGTERM or SIGINT; the pods' processes stay for the next run to adopt
//
// Exit codes: base/exit_codes.h.
#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/files/private_files.h"
#include "base/logging.h"
#include "base/net/unix_socket.h"
#include "base/process/process.h"
#include "base/process/stop_signals.h"
#include "base/status_macros.h"
#include "operator/kube/credentials/kubeconfig.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/rest/rest_api.h"
#include "operator/local/local_nodes.h"
#include "operator/local/local_nodes_flags.h"
#include "operator/local/node_object.h"

namespace muster::control {
namespace {

absl::StatusOr<LocalNodesOptions> ToOptions(const LocalNodesFlags& flags) {
  LocalNode node;
  if (!absl::SimpleAtoi(flags.at("gpus"), &node.gpus) ||
      !absl::SimpleAtoi(flags.at("cpus"), &node.cpus)) {
    return absl::InvalidArgumentError("--gpus and --cpus want numbers");
  }
  for (const auto label : absl::StrSplit(flags.at("labels"), ',', absl::SkipEmpty())) {
    node.labels.insert(absl::StrSplit(label, absl::MaxSplits('=', 1)));
  }
  LocalNodesOptions options;
  for (const auto name : absl::StrSplit(flags.at("node"), ',', absl::SkipEmpty())) {
    node.name = std::string(name);
    options.nodes.push_back(node);
  }
  options.agent_path = flags.at("agent");
  options.trainer_path = flags.at("trainer");
  options.state_dir = flags.at("state-dir");
  options.resync = absl::Seconds(30);
  options.shared_server = true;
  absl::Duration& renew = options.keeper.renew_interval;
  if (!absl::ParseDuration(flags.at("renew-interval"), &renew) || renew <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("--renew-interval wants a duration like 10s");
  }
  return options;
}

absl::Status Run(const LocalNodesFlags& flags, const StopSignals& signals) {
  MUSTER_ASSIGN_OR_RETURN(LocalNodesOptions options, ToOptions(flags));
  const std::string state_dir = options.state_dir;
  // The directory will contain tokens.
  MUSTER_RETURN_IF_ERROR(PrivateFileSystem().MakeDirectories(ParentPath(state_dir)));
  MUSTER_RETURN_IF_ERROR(MakePrivateFolder(state_dir));
  MUSTER_ASSIGN_OR_RETURN(  // 3
      kube::RestConfig config, kube::LoadKubeconfig(kube::KubeconfigPaths(flags.at("kubeconfig"))));
  config.user_agent = "muster-local-nodes";
  MUSTER_ASSIGN_OR_RETURN(const auto api, kube::RestApi::Create(std::move(config)));
  LocalNodes nodes(std::move(options), *api, ProcessLauncher::Real(), Clock::Real());
  absl::Status status = nodes.Register();  // 4
  while (!signals.Take()) {                // 5
    if (!status.ok()) {
      MUSTER_LOG_LIMITED(WARN, "pass", "pass failed", {"error", status});
    }
    status = nodes.RunOnce(absl::Milliseconds(200));
    FlushLimitedLogs();
  }
  FlushLimitedLogs(/*all=*/true);
  MUSTER_LOG(INFO, "stopped; processes go on", {"running", nodes.running().size()});
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  const StopSignals signals;                                                       // 1
  const absl::StatusOr<LocalNodesFlags> flags = ParseLocalNodesFlags(argc, argv);  // 2
  const absl::Status status = flags.ok() ? Run(*flags, signals) : flags.status();
  if (status.ok()) return kExitOk;
  std::fprintf(stderr, "muster-local-nodes: %s\n", std::string(status.message()).c_str());
  if (!flags.ok()) std::fputs(kLocalNodesUsage, stderr);
  return absl::IsInvalidArgument(status) ? kExitBadInput : kExitFailed;
}

}  // namespace
}  // namespace muster::control

int main(int argc, char** argv) { return muster::control::Main(argc, argv); }
