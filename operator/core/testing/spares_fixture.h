#ifndef MUSTER_OPERATOR_CORE_TESTING_SPARES_FIXTURE_H_
#define MUSTER_OPERATOR_CORE_TESTING_SPARES_FIXTURE_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {

// A job with spares whose round 1 is Active with three workers, and whose spares wait.
class SparesTest : public testing::Test {
 protected:
  explicit SparesTest(int spares = 1) : world_(3) {
    world_.view.spec.mutable_workers()->clear_min();
    world_.view.spec.mutable_workers()->set_spares(spares);
    for (int index = 0; index < 3; ++index) Start(index);
    world_.Decide();
    Join();
    Grant(3 + spares);
    for (int index = 3; index < 3 + spares; ++index) Start(index);
    world_.Decide();
  }

  void Grant(int workers) {
    world_.Advance(absl::Seconds(5));
    world_.view.placement.order =
        QueueOrder{workers, "FreeCapacity", "may have more", world_.view.wall};
    world_.Decide();
    world_.Decide();
  }
  void Start(int index) {
    std::erase_if(world_.view.pods, [&](const PodView& pod) { return pod.index == index; });
    std::erase_if(world_.view.agents, [&](const AgentView& agent) { return agent.index == index; });
    world_.AddPod(index);
    world_.AddAgent(index);
  }
  PodView& Pod(int index) {
    return *std::find_if(world_.view.pods.begin(), world_.view.pods.end(),
                         [&](const PodView& pod) { return pod.index == index; });
  }
  AgentView& Agent(int index) {
    return *std::find_if(world_.view.agents.begin(), world_.view.agents.end(),
                         [&](const AgentView& agent) { return agent.index == index; });
  }
  // The pod ends, and its agent with it.
  void Lose(int index) {
    Pod(index).phase = PodPhase::kFailed;
    Pod(index).exit_code = 137;
    std::erase_if(world_.view.agents, [&](const AgentView& agent) { return agent.index == index; });
  }
  // Lets the members of the round under way answer, until it is Active.
  void Join() {
    for (AgentView* agent : Members()) {
      agent->seen = world_.memory.id;
      agent->ready = ReadyReport{world_.memory.id, std::vector<v1alpha1::RankReady>(1)};
    }
    world_.Decide();
    for (AgentView* agent : Members()) {
      agent->joined = Joined(world_.memory);
      agent->active = world_.memory.id;
    }
    world_.Decide();
    ASSERT_EQ(world_.memory.phase, RoundPhase::kActive);
  }
  std::vector<AgentView*> Members() {
    std::vector<AgentView*> members;
    for (const v1alpha1::Member& member : world_.memory.members) {
      AgentView& agent = Agent(member.worker().index());
      agent.first_rank = member.first_rank();
      members.push_back(&agent);
    }
    return members;
  }
  // Trains on for a while, so that the next failure is a new one.
  void MakeProgress(int64_t step) {
    world_.view.progress.latest.emplace().mutable_version()->set_step(step);
    world_.Advance(absl::Seconds(60));
    world_.Decide();
  }
  // The indices of the round's members in the order of their ranks.
  std::string Ranks() const {
    std::string text;
    for (const v1alpha1::Member& member : world_.memory.members) {
      absl::StrAppend(&text, text.empty() ? "" : " ", member.worker().index());
    }
    return text;
  }
  // Loses a worker to a spare, which has trained in its place since; its replacement is the spare.
  void LoseToASpare(int index) {
    Lose(index);
    world_.Advance(absl::Seconds(2));
    world_.Decide();
    Join();
    Start(index);
    MakeProgress(9);
  }
  bool Trains() const { return world_.memory.phase == RoundPhase::kActive; }
  const v1alpha1::TrainingJobStatus& Status() const { return world_.view.status; }

  TestWorld world_;
};

class TwoSparesTest : public SparesTest {
 protected:
  TwoSparesTest() : SparesTest(2) {}
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_TESTING_SPARES_FIXTURE_H_
