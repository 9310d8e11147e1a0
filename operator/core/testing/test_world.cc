#include "operator/core/testing/test_world.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/core/round/gang.h"
#include "operator/core/state/conditions.h"

namespace muster::control {

TestWorld::TestWorld(int count) {
  view.now = absl::FromUnixSeconds(1000);
  view.wall = absl::FromUnixSeconds(1'700'000'000);
  view.leading_since = absl::FromUnixSeconds(0);
  view.leader_term = 1;
  view.job = {"default", "job", "job-uid", 1, view.wall};
  view.job.finalizers = {"muster.dev/workers"};
  view.spec.mutable_workers()->set_count(count);
  view.spec.mutable_workers()->set_min(1);
  view.spec.mutable_trainer()->mutable_train()->set_steps(100);
}

PodView& TestWorld::AddPod(int index, PodPhase phase) {
  while (view.status.incarnations_size() <= index) view.status.add_incarnations(1);
  PodView pod;
  pod.index = index;
  pod.incarnation = view.status.incarnations(index);
  pod.name = PodName("job", index, pod.incarnation);
  pod.uid = "uid-" + pod.name;
  pod.phase = phase;
  pod.node = phase == PodPhase::kPending ? "" : "node";
  view.pods.push_back(pod);
  return view.pods.back();
}

AgentView& TestWorld::AddAgent(int index) {
  AgentView agent;
  agent.index = index;
  agent.incarnation = view.status.incarnations(index);
  agent.pod_uid = "uid-" + PodName("job", index, agent.incarnation);
  agent.attached = true;
  agent.session = 1;
  agent.attached_at = agent.last_heard = view.now;
  agent.ranks = 1;
  view.agents.push_back(agent);
  return view.agents.back();
}

void TestWorld::AddWorkers() {
  for (int i = 0; i < view.spec.workers().count(); ++i) {
    AddPod(i);
    AddAgent(i);
  }
}

void TestWorld::JoinRound() {
  for (AgentView& agent : view.agents) {
    agent.seen = memory.id;
    agent.ready = ReadyReport{memory.id, std::vector<v1alpha1::RankReady>(1)};
  }
  Decide();
  for (AgentView& agent : view.agents) agent.joined = Joined(memory);
}

void TestWorld::MakeActive() {
  AddWorkers();
  Decide();
  JoinRound();
  Decide();
}

Plan TestWorld::Decide() {
  Plan plan = control::Decide(view, memory, options);
  memory = plan.memory;
  view.status = plan.status;
  return plan;
}

void TestWorld::Advance(absl::Duration by) {
  view.now += by;
  view.wall += by;
  for (AgentView& agent : view.agents) {
    if (agent.attached) agent.last_heard = view.now;
  }
}

std::string TestWorld::Condition(ConditionType type) const {
  const v1alpha1::Condition* condition = FindCondition(view.status, type);
  return condition == nullptr ? "" : absl::StrCat(condition->status(), "/", condition->reason());
}

JoinedReport Joined(const RoundMemory& memory) {
  JoinedReport report;
  report.round = memory.id;
  report.trajectory = memory.trajectory;
  return report;
}

std::string EventReasons(const Plan& plan) {
  return absl::StrJoin(plan.events, " ", [](std::string* out, const Event& event) {
    absl::StrAppend(out, event.reason);
  });
}

std::string OrderTexts(const Plan& plan) {
  static constexpr const char* kNames[] = {"Prepare",   "Go",   "Stop", "Save",
                                           "Replicate", "Disk", "Tune"};
  return absl::StrJoin(plan.orders, " ", [](std::string* out, const Order& order) {
    absl::StrAppend(out, kNames[order.what.index()], ":", order.index);
  });
}

}  // namespace muster::control
