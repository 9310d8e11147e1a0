// The part of Fleet in which agents find a leader, obey it and report to it.
#include <memory>
#include <optional>
#include <utility>

#include "operator/api/training_job.h"
#include "operator/core/round_stamp.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/fleet.h"

namespace muster::control {
namespace {

using v1alpha1::AgentMessage;
using v1alpha1::OperatorMessage;

// The order in a message, or nullopt for a greeting.
std::optional<Order> ToOrder(const OperatorMessage& message, const SimAgent& agent) {
  Order order{agent.index, agent.incarnation, agent.pod_uid, SaveOrder{}};
  switch (message.kind_case()) {
    case OperatorMessage::kPrepare: {
      const v1alpha1::PrepareRound& prepare = message.prepare();
      order.what = PrepareOrder{ToStamp(prepare.round()),
                                {prepare.member(), prepare.world_size(), prepare.group_rank(),
                                 prepare.group_world_size()},
                                prepare.membership(),
                                prepare.fresh(),
                                nullptr,
                                prepare.trajectory()};
      return order;
    }
    case OperatorMessage::kGo:
      order.what = GoOrder{std::make_shared<const v1alpha1::GoRound>(message.go())};
      return order;
    case OperatorMessage::kStop:
      order.what = StopOrder{ToStamp(message.stop().round()), message.stop().save(),
                             message.stop().reason()};
      return order;
    default:
      return std::nullopt;
  }
}

}  // namespace

void Fleet::RunAgent(SimWorker& worker) {
  SimAgent* agent = worker.agent.get();
  if (agent == nullptr || agent->phase == SimAgent::Phase::kExited) return;
  if (worker.host < 0 && now() >= worker.dial_at) Dial(worker);
  if (worker.host >= 0) {
    const bool same = coordinators_.process(worker.host) == worker.process;
    if (same && coordinators_.RegistryOf(worker.host) != nullptr) worker.heard = now();
    if (!same || worker.stream->closed || now() - worker.heard >= kSilence) Leave(worker);
  }
  if (worker.host >= 0) Read(worker);
  if (agent->phase == SimAgent::Phase::kPreparing && !agent->ready) {
    for (SimRank& rank : agent->ranks) {
      rank.position.clear_checkpoints();
      for (const auto& ref : checkpoints_[worker.job_uid]) *rank.position.add_checkpoints() = ref;
    }
  }
  agent->RunOnce(now());
  if (worker.host >= 0) Report(worker);
}

// Dials a random replica. If it is a standby or does not know the job yet, another attempt follows
// soon.
void Fleet::Dial(SimWorker& worker) {
  worker.dial_at = now() + absl::Milliseconds(Number(100, 600));
  const int host = Number(0, coordinators_.count() - 1);
  AgentRegistry* registry = coordinators_.RegistryOf(host);
  if (registry == nullptr) return;
  SimAgent& agent = *worker.agent;
  v1alpha1::AgentHello hello;
  v1alpha1::WorkerId& id = *hello.mutable_worker();
  id.set_namespace_("default");
  id.set_job(worker.pod.substr(0, worker.pod.rfind('-', worker.pod.rfind('-') - 1)));
  id.set_job_uid(worker.job_uid);
  id.set_index(agent.index);
  id.set_incarnation(agent.incarnation);
  id.set_pod_uid(agent.pod_uid);
  *hello.mutable_seen() = ToProto(agent.seen);
  if (agent.phase == SimAgent::Phase::kRunning) {
    *hello.mutable_active() = ToProto(agent.round);
    hello.set_first_rank(agent.place.member.first_rank());
  }
  hello.set_ranks(static_cast<int>(agent.ranks.size()));
  auto stream = std::make_shared<SimStream>();
  const absl::StatusOr<uint64_t> attachment = registry->Attach(hello, stream);
  if (!attachment.ok() || *attachment == 0) return;
  worker.host = host;
  worker.process = coordinators_.process(host);
  worker.attachment = *attachment;
  worker.stream = std::move(stream);
  worker.heard = now();
  worker.beat_at = now();
  worker.told_ready = worker.told_joined = RoundStamp{};
  worker.told_finished = {};
  agent.Attach(now());
}

void Fleet::Leave(SimWorker& worker) {
  if (worker.host < 0) return;
  worker.stream->closed = true;
  left_.push_back({worker.host, worker.process, worker.attachment});
  EndStreams();
  worker.host = -1;
  worker.stream.reset();
  worker.dial_at = now() + absl::Milliseconds(Number(50, 1000));
  if (worker.agent != nullptr) worker.agent->Detach(now());
}

// A frozen process notices the end of a stream once it is thawed.
void Fleet::EndStreams() {
  std::erase_if(left_, [this](const LeftStream& left) {
    if (coordinators_.process(left.host) != left.process) return true;
    AgentRegistry* registry = coordinators_.RegistryOf(left.host);
    if (registry == nullptr) return false;
    registry->Detach(left.attachment);
    return true;
  });
}

void Fleet::Read(SimWorker& worker) {
  SimAgent& agent = *worker.agent;
  while (!worker.stream->inbox.empty()) {
    const std::optional<Order> order = ToOrder(worker.stream->inbox.front(), agent);
    worker.stream->inbox.pop_front();
    if (!order) continue;
    const RoundStamp before = agent.seen;
    agent.Obey(*order, now());
    promises_.AgentMoved(worker.pod, before, agent.seen);
    // An order is sent only after the status has recorded it, and the status never goes back, so
    // reading it at delivery is sound.
    const auto jobs = api_.List(kube::kTrainingJobs, {});
    if (!jobs.ok()) continue;
    for (const Json& json : jobs->items) {
      if (kube::UidOf(json) != worker.job_uid) continue;
      const auto job = ParseTrainingJob(json);
      if (!job.ok()) continue;
      promises_.OrderSent(worker.job_uid, *order, {job->status.term(), job->status.round()});
    }
  }
}

void Fleet::Report(SimWorker& worker) {
  AgentRegistry* registry = coordinators_.RegistryOf(worker.host);
  if (registry == nullptr) return;
  const AgentView view = worker.agent->View();
  AgentMessage message;
  if (view.ready && worker.told_ready != view.ready->round) {
    worker.told_ready = view.ready->round;
    *message.mutable_ready()->mutable_round() = ToProto(view.ready->round);
    for (const auto& rank : view.ready->ranks) *message.mutable_ready()->add_ranks() = rank;
    registry->Receive(worker.attachment, message);
  }
  if (view.joined && worker.told_joined != view.joined->round) {
    worker.told_joined = view.joined->round;
    *message.mutable_joined()->mutable_round() = ToProto(view.joined->round);
    *message.mutable_joined()->mutable_version() = view.joined->version;
    message.mutable_joined()->set_trajectory(view.joined->trajectory);
    registry->Receive(worker.attachment, message);
  }
  for (; worker.told_stalls < view.stalls.size(); ++worker.told_stalls) {
    const StallReport& stall = view.stalls[worker.told_stalls];
    *message.mutable_stalled()->mutable_round() = ToProto(stall.round);
    message.mutable_stalled()->set_error(stall.error);
    registry->Receive(worker.attachment, message);
  }
  if (view.finished && worker.told_finished != view.finished->round) {
    worker.told_finished = view.finished->round;
    *message.mutable_finished()->mutable_round() = ToProto(view.finished->round);
    message.mutable_finished()->set_succeeded(view.finished->succeeded);
    *message.mutable_finished()->mutable_version() = view.finished->version;
    message.mutable_finished()->mutable_durable()->set_step(view.finished->durable_step);
    registry->Receive(worker.attachment, message);
  }
  if (now() < worker.beat_at) return;
  worker.beat_at = now() + AgentRegistry::kHeartbeat;
  const SimAgent& agent = *worker.agent;
  if (agent.leads() && agent.phase == SimAgent::Phase::kRunning) {
    *message.mutable_steps()->mutable_round() = ToProto(agent.round);
    v1alpha1::StepReport& step = *message.mutable_steps()->add_steps();
    *step.mutable_version() = agent.ranks.front().position.applied();
    step.set_applied(true);
    step.set_loss(1.0);
    if (tokens_per_report_ > 0) {
      step.set_tokens(tokens_per_report_);
      step.set_finished_at_us(absl::ToUnixMicros(clock_.Wall()));
    }
  } else {
    *message.mutable_heartbeat()->mutable_round() = ToProto(agent.round);
  }
  registry->Receive(worker.attachment, message);
}

}  // namespace muster::control
