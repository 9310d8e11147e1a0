// round_bench MEMBERS ROUNDS measures the time that the operator adds to a round beyond that of its
// ranks. One operator and all agents run in this process, over the embedded API and TLS. Prints a
// JSON object.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/process/process_limits.h"
#include "base/status_macros.h"
#include "base/testing/patience.h"
#include "tests/bench/agent_swarm.h"
#include "tests/bench/swarm_world.h"

namespace muster {
namespace {

// The time that every rank takes to unwind and answer Prepare. Equal times are the worst case,
// because all answers arrive at once.
constexpr absl::Duration kRanks = absl::Milliseconds(500);

double Milliseconds(absl::Duration d) { return absl::ToDoubleMilliseconds(d); }

absl::Status Run(int members, int rounds) {
  const absl::Time start = Clock::Real().Monotonic();
  MUSTER_ASSIGN_OR_RETURN(const auto world, SwarmWorld::Start(1, {.ready_after = kRanks}));
  MUSTER_ASSIGN_OR_RETURN(const std::string job, world->CreateJob("gpt", members));
  MUSTER_RETURN_IF_ERROR(
      world->RunUntil([&] { return world->IsActive(job); }, kPatience, "the first round"));
  const absl::Duration first = Clock::Real().Monotonic() - start;
  const agent::AgentSwarm& swarm = world->swarm();
  Json overhead = Json::array(), decided = Json::array(), spread = Json::array();
  for (int i = 0; i < rounds; ++i) {
    // Waits for two heartbeats: after the leader's step report the next failure counts as the first
    // of its kind again.
    const absl::Time rested = Clock::Real().Monotonic() + absl::Seconds(2);
    MUSTER_RETURN_IF_ERROR(
        world->RunUntil([&] { return Clock::Real().Monotonic() > rested; }, kPatience, "a pause"));
    const int64_t before = swarm.rounds().at(job).id.round();
    const absl::Time failed = world->swarm().FailRank(job);
    MUSTER_RETURN_IF_ERROR(world->RunUntil(
        [&] { return swarm.rounds().at(job).id.round() > before && world->IsActive(job); },
        kPatience, "the next round"));
    const agent::AgentSwarm::Round& round = swarm.rounds().at(job);
    overhead.push_back(Milliseconds(round.last_go - round.first_prepare - kRanks));
    decided.push_back(Milliseconds(round.first_prepare - failed));
    spread.push_back(Milliseconds(round.last_prepare - round.first_prepare));
  }
  const Json result = {
      {"members", members},        {"ranksMs", Milliseconds(kRanks)},
      {"overheadMs", overhead},    {"failureToPrepareMs", decided},
      {"prepareSpreadMs", spread}, {"submitToActiveSeconds", absl::ToDoubleSeconds(first)}};
  std::printf("%s\n", result.dump().c_str());
  std::fflush(stdout);
  return absl::OkStatus();
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  muster::RaiseOpenFileLimit();
  int members = 0, rounds = 0;
  if (argc != 3 || !absl::SimpleAtoi(argv[1], &members) || !absl::SimpleAtoi(argv[2], &rounds)) {
    std::fprintf(stderr, "usage: round_bench MEMBERS ROUNDS\n");
    return 2;
  }
  const absl::Status status = muster::Run(members, rounds);
  if (!status.ok())
    std::fprintf(stderr, "round_bench: %s\n", std::string(status.message()).c_str());
  std::fflush(stderr);
  std::_Exit(status.ok() ? 0 : 1);  // thousands of clients would disconnect one by one
}
