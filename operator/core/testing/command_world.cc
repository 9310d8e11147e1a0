#include "operator/core/testing/command_world.h"

#include <algorithm>
#include <vector>

namespace muster::control {

CommandWorld::CommandWorld(int count, int min) : TestWorld(count) {
  view.spec.clear_trainer();
  view.spec.mutable_workers()->set_min(min);
}

PodView& CommandWorld::Pod(int index) {
  return *std::find_if(view.pods.begin(), view.pods.end(),
                       [&](const PodView& pod) { return pod.index == index; });
}

AgentView& CommandWorld::Agent(int index) {
  return *std::find_if(view.agents.begin(), view.agents.end(),
                       [&](const AgentView& agent) { return agent.index == index; });
}

void CommandWorld::RemovePod(int index) {
  std::erase_if(view.pods, [&](const PodView& pod) { return pod.index == index; });
  std::erase_if(view.agents, [&](const AgentView& agent) { return agent.index == index; });
}

void CommandWorld::JoinAll() {
  for (AgentView& agent : view.agents) {
    agent.seen = memory.id;
    agent.ready = ReadyReport{memory.id, std::vector<v1alpha1::RankReady>(1)};
  }
  Decide();
  for (AgentView& agent : view.agents) agent.joined = JoinedReport{memory.id};
  Decide();
}

void CommandWorld::EndCommand(int index) {
  Agent(index).finished.emplace();
  Agent(index).finished->round = memory.id;
  Agent(index).finished->succeeded = true;
}

void CommandWorld::FailRank(int index, int exit_code, const std::string& log) {
  ExitReport exit;
  exit.round = memory.id;
  exit.rank = index;
  exit.exit_code = exit_code;
  exit.signal = exit_code > 128 ? exit_code - 128 : 0;
  exit.reason = exit.signal != 0 ? "Signaled" : "Exited";
  exit.log_tail = log;
  Agent(index).exits.push_back(exit);
}

void CommandWorld::ChangeLeaders() {
  memory = RoundMemory{};
  ++view.leader_term;
  view.leading_since = view.now;
}

}  // namespace muster::control
