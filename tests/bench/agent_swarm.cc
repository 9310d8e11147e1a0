#include "tests/bench/agent_swarm.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>

#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "proto/muster/v1alpha1/round_id.h"

namespace muster::agent {
namespace {

// A real agent also wakes at least this often.
constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr int kDialsAtOnce = 2;

absl::Time Now() { return Clock::Real().Monotonic(); }

// Returns a number in [0, 1) that differs between agents and is the same in every run.
double Spread(size_t agent) {
  return std::fmod(static_cast<double>(agent) * 0.6180339887498949, 1.0);
}

}  // namespace

AgentSwarm::AgentSwarm(Options options, Files& files)
    : options_(options), files_(files), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // see CoordinatorServer
}

AgentSwarm::~AgentSwarm() { close(epoll_); }

void AgentSwarm::Add(v1alpha1::WorkerId worker, int ranks, CoordinatorClientOptions coordinator) {
  joining_.push_back({std::move(worker), ranks, std::move(coordinator)});
}

void AgentSwarm::Start(Joining joining) {
  const size_t index = agents_.size();
  Agent& agent = agents_.emplace_back();
  agent.worker = std::move(joining.worker);
  agent.ranks = joining.ranks;
  agent.client = std::make_unique<CoordinatorClient>(std::move(joining.coordinator), files_);
  epoll_event interest = {};
  interest.events = EPOLLIN;
  interest.data.u64 = index;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, agent.client->poll_fd(), &interest);
  Later(options_.heartbeat * Spread(index), index, [this, index](Agent&) { Beat(index); });
  Collect(index);
  PollWhileDialing(index);
}

void AgentSwarm::Later(absl::Duration delay, size_t agent, std::function<void(Agent&)> what) {
  due_.push({Now() + delay, agent, std::move(what)});
}

void AgentSwarm::RunOnce(absl::Duration wait) {
  if (!joining_.empty() || !dialing_.empty()) wait = absl::ZeroDuration();
  if (!due_.empty()) wait = std::clamp(due_.top().when - Now(), absl::ZeroDuration(), wait);
  std::array<epoll_event, 256> ready;
  const int count = epoll_wait(epoll_, ready.data(), ready.size(),
                               static_cast<int>(absl::ToInt64Milliseconds(wait)));
  for (int i = 0; i < count; ++i) Collect(ready[i].data.u64);
  const absl::Time now = Now();
  while (!due_.empty() && due_.top().when <= now) {
    const Due due = due_.top();
    due_.pop();
    due.what(agents_[due.agent]);
  }
  for (int i = 0; i < kDialsAtOnce && !joining_.empty(); ++i) {
    Start(std::move(joining_.front()));
    joining_.pop_front();
  }
  for (int i = 0; i < kDialsAtOnce && !dialing_.empty(); ++i) {
    const size_t index = dialing_.front();
    dialing_.pop_front();
    Collect(index);
    agents_[index].dialing = !agents_[index].welcomed;
    if (agents_[index].dialing) PollWhileDialing(index);
  }
}

void AgentSwarm::Collect(size_t index) {
  for (const Event& event : agents_[index].client->Collect(Now())) On(event, index);
}

void AgentSwarm::PollWhileDialing(size_t index) {
  Later(kTick * (0.5 + Spread(index) / 2), index,
        [this, index](Agent&) { dialing_.push_back(index); });
}

void AgentSwarm::Beat(size_t index) {
  Agent& agent = agents_[index];
  Later(options_.heartbeat, index, [this, index](Agent&) { Beat(index); });
  if (!agent.welcomed) return;
  Collect(index);  // renews the certificate if it is due
  v1alpha1::AgentMessage beat;
  *beat.mutable_heartbeat()->mutable_round() = agent.seen;
  agent.client->Send(beat);
  if (!agent.leads || agent.active.round() == 0) return;
  v1alpha1::AgentMessage report;
  *report.mutable_steps()->mutable_round() = agent.active;
  v1alpha1::StepReport& step = *report.mutable_steps()->add_steps();
  step.mutable_version()->set_step(++agent.step);
  step.mutable_version()->set_attempt(agent.active.round());
  step.set_applied(true);
  step.set_loss(3.5);
  step.set_tokens(1 << 20);
  step.set_finished_at_us(absl::ToUnixMicros(Clock::Real().Wall()));
  agent.client->Send(report);
}

void AgentSwarm::On(const Event& event, size_t index) {
  Agent& agent = agents_[index];
  if (std::holds_alternative<StreamOpened>(event)) return SayHello(agent);
  if (std::holds_alternative<StreamClosed>(event)) {
    if (std::exchange(agent.welcomed, false)) {
      --welcomed_;
      ++streams_lost_;
    }
    if (!std::exchange(agent.dialing, true)) PollWhileDialing(index);
    return;
  }
  if (const auto* said = std::get_if<OperatorMessageReceived>(&event)) Obey(said->message, index);
}

void AgentSwarm::SayHello(Agent& agent) {
  v1alpha1::AgentMessage message;
  v1alpha1::AgentHello& hello = *message.mutable_hello();
  *hello.mutable_worker() = agent.worker;
  *hello.mutable_seen() = agent.seen;
  *hello.mutable_active() = agent.active;
  hello.set_ranks(agent.ranks);
  hello.set_host("127.0.0.1");
  hello.set_version("swarm");
  agent.client->Send(message);
}

void AgentSwarm::Obey(const v1alpha1::OperatorMessage& message, size_t index) {
  Agent& agent = agents_[index];
  if (message.has_not_leader()) agent.client->Redial(message.not_leader().address());
  if (message.has_welcome() && !std::exchange(agent.welcomed, true)) ++welcomed_;
  if (message.has_prepare()) Prepare(message.prepare(), index);
  if (message.has_go()) Go(message.go(), index);
}

void AgentSwarm::Prepare(const v1alpha1::PrepareRound& prepare, size_t index) {
  Agent& agent = agents_[index];
  Round& round = rounds_[agent.worker.job_uid()];
  if (!Same(round.id, prepare.round())) {
    round = {};
    round.id = prepare.round();
    round.members = prepare.group_world_size();
    round.first_prepare = Now();
  }
  ++round.prepared;
  round.last_prepare = Now();
  agent.seen = prepare.round();
  agent.trajectory = prepare.trajectory();
  agent.active.Clear();
  agent.leads = prepare.group_rank() == 0;
  Later(options_.ready_after, index, [](Agent& a) {
    v1alpha1::AgentMessage message;
    *message.mutable_ready()->mutable_round() = a.seen;
    for (int rank = 0; rank < a.ranks; ++rank) {
      v1alpha1::RankReady& ready = *message.mutable_ready()->add_ranks();
      ready.set_local_rank(rank);
      ready.set_endpoint("127.0.0.1:29500");
      if (a.step == 0) continue;
      v1alpha1::RankPosition& position = *ready.mutable_position();
      position.mutable_applied()->set_step(a.step);
      position.mutable_applied()->set_attempt(1);
    }
    a.client->Send(message);
  });
}

void AgentSwarm::Go(const v1alpha1::GoRound& go, size_t index) {
  Round& told = rounds_[agents_[index].worker.job_uid()];
  if (!Same(told.id, go.round())) return;
  ++told.told_go;
  told.last_go = Now();
  Later(options_.joined_after, index, [this, id = go.round()](Agent& agent) {
    if (!Same(agent.seen, id)) return;
    agent.active = id;
    v1alpha1::AgentMessage message;
    *message.mutable_joined()->mutable_round() = id;
    message.mutable_joined()->set_trajectory(agent.trajectory);
    agent.client->Send(message);
    Round& round = rounds_[agent.worker.job_uid()];
    ++round.joined;
    round.last_joined = Now();
  });
}

absl::Time AgentSwarm::FailRank(const std::string& job_uid) {
  const absl::Time now = Now();
  for (auto agent = agents_.rbegin(); agent != agents_.rend(); ++agent) {
    if (agent->worker.job_uid() != job_uid) continue;
    v1alpha1::AgentMessage message;
    v1alpha1::RankExited& exited = *message.mutable_rank_exited();
    *exited.mutable_round() = agent->active;
    exited.set_exit_code(1);
    exited.set_restarted(true);
    exited.set_reason("Exited");
    agent->client->Send(message);
    break;
  }
  return now;
}

int64_t AgentSwarm::certificates() const {
  int64_t sum = 0;
  for (const Agent& agent : agents_) sum += agent.client->certificates();
  return sum;
}

}  // namespace muster::agent
