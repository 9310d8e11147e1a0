#ifndef MUSTER_OPERATOR_CORE_TESTING_SPOT_FIXTURE_H_
#define MUSTER_OPERATOR_CORE_TESTING_SPOT_FIXTURE_H_

#include <cstdint>

#include "operator/core/testing/test_world.h"

// Worlds for the tests of notices.
namespace muster::control {

// A job with a place for checkpoints, whose round 1 is Active.
inline TestWorld ActiveWorld(int count, int min) {
  TestWorld world(count);
  world.view.spec.mutable_workers()->set_min(min);
  world.view.spec.mutable_checkpoint()->set_uri("/checkpoints");
  world.MakeActive();
  return world;
}

// A checkpoint of `step` has been written.
inline void Write(TestWorld& world, int64_t step) {
  v1alpha1::CheckpointReport report;
  report.mutable_version()->set_step(step);
  report.set_uri("/checkpoints/step");
  world.view.checkpoint.written = report;
}

// Makes the next leader take over; its agents attach at once and still step.
inline void ChangeLeaders(TestWorld& world) {
  for (AgentView& agent : world.view.agents) agent.active = world.memory.id;
  world.memory = RoundMemory{};
  ++world.view.leader_term;
  world.view.leading_since = world.view.now;
  world.view.checkpoint.written.reset();
  for (AgentView& agent : world.view.agents) ++agent.session;
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_TESTING_SPOT_FIXTURE_H_
