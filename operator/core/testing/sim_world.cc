#include "operator/core/testing/sim_world.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "operator/core/state/spec_values.h"
#include "planner/layout.h"

namespace muster::control {
namespace {

std::string Fingerprint(const JobView& view, int64_t version) {
  std::string text = absl::StrCat(version, view.spec.SerializeAsString());
  if (view.placement.order) absl::StrAppend(&text, absl::FormatTime(view.placement.order->time));
  for (const PodView& pod : view.pods) {
    absl::StrAppend(&text, pod.uid, static_cast<int>(pod.phase), pod.deleting, pod.node, " ",
                    pod.rates.per_hour.value_or(-1), " ", pod.rates.watts.value_or(-1), ";");
  }
  absl::StrAppend(&text, view.progress.tunings.size(), ";");
  if (view.checkpoint.written) absl::StrAppend(&text, view.checkpoint.written->directory());
  for (const AgentView& agent : view.agents) {
    absl::StrAppend(&text, agent.pod_uid, agent.session, agent.attached, agent.exits.size(), "/",
                    agent.stalls.size(), agent.ready ? agent.ready->round.round : 0, ".",
                    agent.joined ? agent.joined->round.round : 0, ".",
                    agent.finished ? agent.finished->round.round : 0, ";");
  }
  return text;
}

}  // namespace

SimWorld::SimWorld(uint64_t seed) : random_(seed), leading_since_(now) {
  job.job = {"default", "job", "job-uid", 1, now};
  job.spec.mutable_workers()->set_count(3);
  job.spec.mutable_workers()->set_min(1);
  job.spec.mutable_workers()->set_max(4);
  job.spec.mutable_workers()->set_ranks(1);
  job.spec.mutable_trainer()->mutable_train()->set_steps(60);
  job.spec.mutable_checkpoint()->set_uri("/checkpoints");
  job.spec.mutable_failure_policy()->set_max_failures(60);
  job.spec.mutable_failure_policy()->set_on_rank_failure("RestartRank");
}

void SimWorld::Violate(const std::string& what) {
  violations.push_back(absl::StrCat(absl::FormatDuration(now - job.job.created), ": ", what));
}

JobView SimWorld::Observe() const {
  JobView view = job;
  view.now = view.wall = now;
  view.leader_term = term_;
  view.leading_since = leading_since_;
  for (const auto& [name, pod] : pods_) {
    view.pods.push_back(pod.view);
    if (rates && !pod.view.node.empty()) view.pods.back().rates = rates(pod.view);
    // A new leader knows only those agents that have attached to it.
    if (pod.agent != nullptr && pod.agent->View().attached_at >= leading_since_) {
      view.agents.push_back(pod.agent->View());
    }
  }
  view.progress = progress_;
  view.checkpoint.written = written_;
  return view;
}

void SimWorld::RunOnce() {
  now += kTick;
  AdvancePods();
  AdvanceRounds();
  if (job_deleted) return;
  const JobView view = Observe();
  std::string seen = Fingerprint(view, resource_version_);
  if (seen == last_seen_ && now < next_decision_) return;
  last_seen_ = std::move(seen);
  Reconcile();
}

void SimWorld::RunUntilEnded(absl::Duration limit) {
  const absl::Time end = now + limit;
  while (now < end && !IsFinished(job.status)) RunOnce();
}

void SimWorld::Reconcile() {
  const JobView view = Observe();
  const Plan plan = Decide(view, memory_, options);
  CheckPlan(plan, view);
  next_decision_ = now + plan.requeue_after.value_or(absl::Hours(1));
  if (CarryOut(plan, view, resource_version_)) {
    memory_ = plan.memory;
  } else {
    next_decision_ = now;
  }
}

// Acts like the shell: pods, the status, then orders. Returns false if the rest was dropped.
bool SimWorld::CarryOut(const Plan& plan, const JobView& view, int64_t version) {
  for (const DeletePod& remove : plan.deletes) {
    const auto pod = pods_.find(remove.name);
    if (pod == pods_.end() || pod->second.view.uid != remove.uid) continue;
    pod->second.view.deleting = true;
    pod->second.next = now + absl::Milliseconds(Number(50, 2000));
  }
  for (const CreatePod& create : plan.creates) Create(create);
  for (const std::string& finalizer : plan.add_finalizers) job.job.finalizers.push_back(finalizer);
  if (!plan.remove_finalizers.empty()) job_deleted = true;
  if (plan.write_status) {
    if (version != resource_version_) return false;
    if (failing_writes_ > 0) return --failing_writes_, false;
    job.status = plan.status;
    ++resource_version_;
    ++writes;
  }
  warned_ = std::any_of(plan.events.begin(), plan.events.end(), [](const Event& event) {
    return event.reason == Name(Reason::kCheckpointGivenUp);
  });
  before_ = view.status;
  CheckOrders(plan, view);
  for (const Order& order : plan.orders) {
    for (auto& [name, pod] : pods_) {
      const bool here = pod.view.uid == order.pod_uid && pod.agent != nullptr;
      if (here && pod.agent->attached) pod.agent->Obey(order, now);
    }
  }
  for (const Event& event : plan.events) event_reasons.push_back(event.reason);
  if (plan.delete_job) job_deleted = true;
  return true;
}

void SimWorld::CheckPlan(const Plan& plan, const JobView& view) {
  const Plan again = Decide(view, memory_, options);
  if (again.status.SerializeAsString() != plan.status.SerializeAsString() ||
      again.orders.size() != plan.orders.size() || again.creates.size() != plan.creates.size()) {
    Violate("two decisions on one view differ");
  }
}

// Checks the orders of a plan whose status write succeeded.
void SimWorld::CheckOrders(const Plan& plan, const JobView& view) {
  const RoundStamp recorded{job.status.term(), job.status.round()};
  for (const Order& order : plan.orders) {
    if (const auto* go = std::get_if<GoOrder>(&order.what)) CheckGo(*go, view);
    const auto* prepare = std::get_if<PrepareOrder>(&order.what);
    if (prepare == nullptr) continue;
    if (prepare->round > recorded) Violate("Prepare of a round that is not recorded");
    const auto [known, first] =
        membership_of_round_.emplace(prepare->round.round, prepare->membership);
    rounds_opened += first;
    if (known->second != prepare->membership) Violate("one round with two memberships");
    if (first) CheckOpening(plan, view, prepare->place.group_world_size);
    if (prepare->place.member.worker().pod_uid() != order.pod_uid) Violate("another's Prepare");
  }
}

// The orders that open a round go to all of its members, and all of them are attached.
void SimWorld::CheckOpening(const Plan& plan, const JobView& view, int members) {
  if (static_cast<int>(plan.orders.size()) != members) Violate("Prepare to a part of the members");
  for (const Order& order : plan.orders) {
    const bool there = std::any_of(
        view.agents.begin(), view.agents.end(),
        [&](const AgentView& agent) { return agent.attached && agent.pod_uid == order.pod_uid; });
    if (!there) Violate(absl::StrCat("Prepare with worker ", order.index, " missing"));
  }
}

void SimWorld::CheckGo(const GoOrder& order, const JobView& view) {
  const int64_t round = order.go->round().round();
  const auto [known, first] = go_of_round_.emplace(round, order.go->SerializeAsString());
  if (known->second != order.go->SerializeAsString()) Violate("one round with two resume points");
  if (!first) return;
  const auto& version = order.go->resume().version();
  bool holder_lives = false;
  int64_t saved = 0;  // the newest checkpoint that a rank reported
  for (const AgentView& agent : view.agents) {
    if (!agent.ready || agent.ready->round.round != round) continue;
    for (const auto& rank : agent.ready->ranks) {
      const auto& applied = rank.position().applied();
      const Version at{applied.attempt(), applied.step()};
      holder_lives |= rank.position().has_applied() && at >= committed_version_;
      for (const auto& ref : rank.position().checkpoints()) {
        saved = std::max(saved, ref.version().step());
      }
    }
  }
  const Version target{version.attempt(), version.step()};
  if (holder_lives && target < committed_version_) {
    Violate(absl::StrCat("committed step ", committed, " lost at round ", round));
  }
  const v1alpha1::CheckpointStatus& floor = before_.checkpoint();
  const bool same_run = floor.step() == 0 || order.go->resume().history() == floor.history();
  if ((version.step() < floor.step() || !same_run) && !warned_) {
    Violate(absl::StrCat("went below step ", floor.step(), " of the floor without a word"));
  }
  if (target < committed_version_) {
    if (ruined_.empty() && version.step() < saved) Violate("went back past the newest checkpoint");
    redone += committed - version.step();
    committed = version.step();
    committed_version_ = target;
  }
}

void SimWorld::Create(const CreatePod& create) {
  if (pods_.count(create.name) > 0) return;  // already exists
  if (!created_.insert(create.name).second) Violate("pod " + create.name + " was created twice");
  if (create.incarnation > job.status.incarnations(create.index)) {
    Violate("pod " + create.name + " is ahead of the recorded incarnation");
  }
  SimPod& pod = pods_[create.name];
  pod.view.name = create.name;
  pod.view.uid = absl::StrCat("pod-", next_uid_++);
  pod.view.index = create.index;
  pod.view.incarnation = create.incarnation;
  pod.next = now + absl::Milliseconds(Number(50, 500));
}

void SimWorld::EndPod(SimPod& pod, PodPhase phase, int exit_code) {
  pod.view.phase = phase;
  pod.view.exit_code = exit_code;
  pod.view.ended = {{"worker", exit_code, 0, exit_code == 0 ? "Completed" : "Error"}};
  pod.agent.reset();
}

void SimWorld::AdvancePods() {
  for (auto it = pods_.begin(); it != pods_.end();) {
    SimPod& pod = it->second;
    SimAgent* agent = pod.agent.get();
    if (pod.view.deleting && now >= pod.next) {
      it = pods_.erase(it);
      continue;
    }
    ++it;
    if (agent != nullptr && agent->phase == SimAgent::Phase::kExited) {
      EndPod(pod, PodPhase::kSucceeded, 0);
    } else if (agent != nullptr) {
      if (!agent->attached && now >= pod.next) agent->Attach(now);
      ShowCheckpoints(*agent);
      agent->RunOnce(now);
      if (agent->round.round > 0) {
        const auto [known, first] =
            membership_of_round_.emplace(agent->round.round, agent->membership);
        if (known->second != agent->membership) Violate("agents obeyed two memberships of a round");
      }
    } else if (pod.view.phase == PodPhase::kPending && !pod.view.deleting && now >= pod.next) {
      pod.view.phase = PodPhase::kRunning;
      pod.view.node = "node-1";
      pod.view.accepted = now;
      pod.next = now + absl::Milliseconds(Number(50, 300));
      pod.agent = std::make_unique<SimAgent>(pod.view.index, pod.view.incarnation, pod.view.uid,
                                             planner::RanksOf(job.spec.workers()));
    }
  }
}

SimAgent* SimWorld::FindAgent(int index) {
  for (auto& [name, pod] : pods_) {
    const bool current = index < job.status.incarnations_size() &&
                         pod.view.incarnation == job.status.incarnations(index);
    if (pod.view.index == index && current && pod.agent != nullptr) return pod.agent.get();
  }
  return nullptr;
}

void SimWorld::KillRank(absl::Duration lag) {
  SimAgent* agent = FindAgent(Number(0, WorkerCount(job.spec) - 1));
  const bool restart = job.spec.failure_policy().on_rank_failure() != "Shrink" || Pick(2);
  if (agent == nullptr) return;
  InterruptStep(*agent);
  if (lag > absl::ZeroDuration()) agent->Lag(now + lag);
  agent->KillRank(0, 137, now, restart);
}

void SimWorld::EndRank(int index, int exit_code, const std::string& log, absl::Duration lag) {
  SimAgent* agent = FindAgent(index);
  if (agent == nullptr) return;
  InterruptStep(*agent);
  if (lag > absl::ZeroDuration()) agent->Lag(now + lag);
  agent->KillRank(0, exit_code, now, job.spec.failure_policy().on_rank_failure() != "Shrink", log);
}

void SimWorld::EndWorker(int index, int exit_code, const std::string& reason) {
  for (auto& [name, pod] : pods_) {
    if (pod.agent == nullptr || pod.agent.get() != FindAgent(index)) continue;
    InterruptStep(*pod.agent);
    EndPod(pod, PodPhase::kFailed, exit_code);
    pod.view.ended.front().reason = reason;
    if (exit_code == 0) {  // refused: none of its containers ever ran
      pod.view.reason = reason;
      pod.view.ended.clear();
      pod.view.exit_code.reset();
    }
    return;
  }
}

void SimWorld::LoseNode(int index) {
  for (auto& [name, pod] : pods_) {
    if (pod.agent == nullptr || pod.agent.get() != FindAgent(index)) continue;
    InterruptStep(*pod.agent);
    pod.view.node_conditions = {{"Ready", "Unknown", "NodeStatusUnknown"}};
    pod.view.conditions = {{"DisruptionTarget", "True", "DeletionByTaintManager"}};
    pod.view.deleting = true;
    pod.next = now + absl::Milliseconds(Number(500, 2000));
    pod.agent.reset();
    return;
  }
}

void SimWorld::DarkenNode(int index) {
  for (auto& [name, pod] : pods_) {
    if (pod.agent == nullptr || pod.agent.get() != FindAgent(index)) continue;
    InterruptStep(*pod.agent);
    pod.view.node_conditions = {{"Ready", "Unknown", "NodeStatusUnknown"}};
    pod.agent.reset();
    return;
  }
}

void SimWorld::KillAgent() {
  for (auto& [name, pod] : pods_) {
    if (pod.agent == nullptr || !Pick(2)) continue;
    InterruptStep(*pod.agent);
    return EndPod(pod, PodPhase::kFailed, 137);
  }
}

void SimWorld::KillEveryAgent() {
  for (auto& [name, pod] : pods_) {
    if (pod.agent != nullptr) EndPod(pod, PodPhase::kFailed, 137);
  }
}

void SimWorld::DeleteSomePod() {
  for (auto& [name, pod] : pods_) {
    if (pod.view.deleting || !Pick(2)) continue;
    pod.view.deleting = true;
    pod.next = now + absl::Milliseconds(Number(0, 3000));
    return;
  }
}

void SimWorld::CutStream(absl::Duration length) {
  for (auto& [name, pod] : pods_) {
    if (pod.agent == nullptr || !pod.agent->attached || !Pick(2)) continue;
    pod.agent->Detach(now);
    pod.next = now + length;
    return;
  }
}

void SimWorld::ChangeLeader(bool zombie) {
  const JobView old_view = Observe();
  const RoundMemory old_memory = memory_;
  const int64_t old_version = resource_version_;
  ++term_;
  leading_since_ = now;
  memory_ = RoundMemory{};
  written_.reset();
  progress_.steps_seen = 0;
  progress_.times = {};
  progress_.tunings.clear();
  for (auto& [name, pod] : pods_) {
    if (pod.agent == nullptr) continue;
    pod.agent->Detach(now);
    pod.next = now + absl::Milliseconds(Number(0, 1000));
  }
  next_decision_ = now;
  if (!zombie) return;
  Reconcile();
  // The old leader thaws: it still has its streams and its memory, and may not do harm.
  for (auto& [name, pod] : pods_) {
    if (pod.agent != nullptr) pod.agent->attached = true;
  }
  CarryOut(Decide(old_view, old_memory, options), old_view, old_version);
  for (auto& [name, pod] : pods_) {
    if (pod.agent != nullptr) pod.agent->attached = false;
  }
}

void SimWorld::RuinNewestCheckpoint() {
  if (!checkpoints_.empty()) ruined_.insert(checkpoints_.back().directory());
}

void SimWorld::VisitPods(const std::function<void(const PodView&)>& visit) const {
  for (const PodView& pod : Observe().pods) visit(pod);
}

std::string SimWorld::ConditionReason(ConditionType type) const {
  const v1alpha1::Condition* condition = FindCondition(job.status, type);
  return condition == nullptr ? "" : absl::StrCat(condition->status(), "/", condition->reason());
}

}  // namespace muster::control
