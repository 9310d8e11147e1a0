// muster-node-agent: tells the operator about the hardware of one node, and Prometheus how it does.
// docs/node-agent.md.
//
// Start order:
//   1. block SIGTERM and SIGINT and turn them into a descriptor, before any thread is started
//   2. flags, and the authority of the coordinator
//   3. the address of the metrics, what was kept of the time before
//   4. run until SIGTERM or SIGINT, whatever is absent: a driver, an operator, a fabric
//
// Exit codes: base/exit_codes.h.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/node/node_agent.h"
#include "agent/node/node_flags.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/logging.h"
#include "base/process/process.h"
#include "base/process/stop_signals.h"
#include "base/version.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxAuthorityBytes = size_t{1} << 20;

int Fail(const absl::Status& status, int code) {
  std::fprintf(stderr, "muster-node-agent: %s\n", std::string(status.message()).c_str());
  return code;
}

int Main(int argc, char** argv) {
  std::signal(SIGHUP, SIG_IGN);
  const StopSignals signals;  // 1
  absl::StatusOr<NodeAgentFlags> flags = ParseNodeAgentFlags(
      std::vector<std::string>(argv + 1, argv + argc), EnvironmentVariable);  // 2
  if (!flags.ok()) {
    const int code = Fail(flags.status(), kExitBadInput);
    std::fprintf(stderr, "%s", NodeAgentUsage().c_str());
    return code;
  }
  if (flags->log_json) SetLogFormat(LogFormat::kJson);
  NodeAgentOptions options;
  if (!flags->coordinator_ca.empty()) {
    absl::StatusOr<std::string> authority =
        ReadFile(FileSystem(), flags->coordinator_ca, kMaxAuthorityBytes);
    if (!authority.ok()) return Fail(authority.status(), kExitBadInput);
    options.authority_pem = *std::move(authority);
  }
  options.flags = *std::move(flags);
  options.signal_fd = signals.NewDescriptor();
  for (char** entry = environ; *entry != nullptr; ++entry) options.environment.push_back(*entry);
  MUSTER_LOG(INFO, "muster-node-agent", {"version", kVersion}, {"node", options.flags.node});
  NodeAgent agent(std::move(options), Clock::Boot(), ProcessLauncher::Real(), FileSystem());
  if (const absl::Status started = agent.Start(); !started.ok()) {  // 3
    return Fail(started, kExitFailed);
  }
  while (!agent.RunOnce(absl::Minutes(1))) FlushLimitedLogs();  // 4
  agent.Stop();
  FlushLimitedLogs(/*all=*/true);
  return 0;
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) {
  const int code = muster::agent::Main(argc, argv);
  std::fflush(nullptr);
  _exit(code);  // skips destructors of statics that gRPC's threads still use
}
