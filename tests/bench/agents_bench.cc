// agents_bench: thousands of simulated worker agents and the kubelets of their pods, as one process
// against a real API server; tests/bench/agents.py drives it. Prints one JSON object a line, at
// most 20 a second: the number of agents, how many are attached, and the monotonic clock.
//
//   agents_bench --kubeconfig=PATH --namespace=NAME --nodes=N
//
// Ends at SIGTERM.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/process/process_limits.h"
#include "base/status_macros.h"
#include "base/testing/memory_files.h"
#include "operator/kube/credentials/kubeconfig.h"
#include "operator/kube/rest/rest_api.h"
#include "tests/bench/agent_swarm.h"
#include "tests/bench/swarm_kubelet.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kPrint = absl::Milliseconds(50);
constexpr int kPodsPerNode = 250;
constexpr int kKubeletThreads = 8;

std::atomic<bool> stopping{false};

void Print(const AgentSwarm& swarm, const SwarmKubelet& kubelet) {
  int active = 0;
  int64_t lowest_term = 0;
  for (const auto& [job, round] : swarm.rounds()) {
    if (round.joined == round.members) active += round.members;
    if (lowest_term == 0 || round.id.term() < lowest_term) lowest_term = round.id.term();
  }
  const Json line = {
      {"at", absl::ToDoubleSeconds(Clock::Real().Monotonic() - absl::UnixEpoch())},
      {"agents", swarm.size()},
      {"attached", swarm.welcomed()},
      {"active", active},
      {"streamsLost", swarm.streams_lost()},
      {"certificates", swarm.certificates()},
      {"trouble", std::string(kubelet.status().message())},
  };
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

absl::Status Run(std::map<std::string, std::string> flags) {
  int nodes = 0;
  if (!absl::SimpleAtoi(flags["--nodes"], &nodes)) {
    return absl::InvalidArgumentError("--nodes must be a number");
  }
  RaiseOpenFileLimit();
  MUSTER_ASSIGN_OR_RETURN(kube::RestConfig config,
                          kube::LoadKubeconfig({flags["--kubeconfig"]}, ""));
  config.user_agent = "agent-swarm";
  config.qps = 0;
  MUSTER_ASSIGN_OR_RETURN(const auto api, kube::RestApi::Create(std::move(config)));
  MUSTER_RETURN_IF_ERROR(SwarmKubelet::MakeNodes(*api, nodes, kPodsPerNode));
  MemoryFiles files;
  AgentSwarm swarm({}, files);
  SwarmKubelet kubelet(*api, flags["--namespace"], files, kKubeletThreads);
  absl::Time print_at = absl::InfinitePast();
  while (!stopping) {
    for (SwarmKubelet::Started& pod : kubelet.Take()) {
      swarm.Add(pod.worker, pod.ranks, std::move(pod.coordinator));
    }
    swarm.RunOnce(kPrint / 2);
    if (Clock::Real().Monotonic() < print_at) continue;
    print_at = Clock::Real().Monotonic() + kPrint;
    Print(swarm, kubelet);
  }
  std::fflush(stdout);
  _exit(0);  // thousands of clients would disconnect one by one
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTERM, [](int) { muster::agent::stopping = true; });
  std::map<std::string, std::string> flags;
  for (int i = 1; i < argc; ++i) {
    const std::pair<std::string, std::string> flag =
        absl::StrSplit(std::string(argv[i]), absl::MaxSplits('=', 1));
    flags.insert(flag);
  }
  const absl::Status status = muster::agent::Run(std::move(flags));
  std::fprintf(stderr, "agents_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}
