#ifndef MUSTER_OPERATOR_CORE_TESTING_COMMAND_WORLD_H_
#define MUSTER_OPERATOR_CORE_TESTING_COMMAND_WORLD_H_

#include <string>

#include "operator/core/testing/test_world.h"

// A TestWorld for a job that brings its own command, with the events that can befall its workers.
namespace muster::control {

struct CommandWorld : TestWorld {
  explicit CommandWorld(int count, int min = 1);

  // Every agent of the round that is being opened answers, until the round is Active.
  void JoinAll();
  // The worker's command ended with 0, and its agent reports so.
  void EndCommand(int index);
  // A rank of the worker ended in the round under way.
  void FailRank(int index, int exit_code, const std::string& log = "");
  // Another leader takes over without memory, and sees agents only as they attach.
  void ChangeLeaders();
  void RemovePod(int index);
  PodView& Pod(int index);
  AgentView& Agent(int index);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_TESTING_COMMAND_WORLD_H_
