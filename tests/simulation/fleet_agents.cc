// The part of Fleet in which agents find a leader, obey it and report to it.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "operator/api/job_field.h"
#include "operator/core/state/round_stamp.h"
#include "operator/kube/resource_type.h"
#include "proto/muster/v1alpha1/agent_limits.h"
#include "tests/simulation/fleet.h"

namespace muster::control {
namespace {

// An honest agent is never refused.
void Must(const absl::Status& taken) {
  if (taken.ok()) return;
  std::cerr << "an honest agent's message is refused: " << taken << "\n";
  std::abort();
}

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

// Empty for what is no order.
absl::string_view OrderName(const OperatorMessage& message) {
  switch (message.kind_case()) {
    case OperatorMessage::kPrepare:
      return "Prepare";
    case OperatorMessage::kGo:
      return "Go";
    case OperatorMessage::kStop:
      return "Stop";
    case OperatorMessage::kSave:
      return "Save";
    default:
      return "";
  }
}

}  // namespace

void Fleet::RunAgent(SimWorker& worker) {
  SimAgent* agent = worker.agent.get();
  if (agent == nullptr || agent->phase == SimAgent::Phase::kExited) return;
  const bool cut = now() < worker.cut_until;
  if (worker.host < 0 && !cut && now() >= worker.dial_at) Dial(worker);
  if (worker.host >= 0) {
    const bool same = coordinators_.process(worker.host) == worker.process;
    if (same && !cut && coordinators_.RegistryOf(worker.host) != nullptr) worker.heard = now();
    if (!same || worker.stream->closed || now() - worker.heard >= kSilence) Leave(worker);
  }
  if (worker.host >= 0 && !cut) Read(worker);
  EndStop(worker);
  if (agent->phase == SimAgent::Phase::kPreparing && !agent->ready) ShowState(worker);
  if (now() >= worker.stopped_until) agent->RunOnce(now());
  if (worker.host >= 0 && !cut) Report(worker);
}

// Puts into the positions of the worker's ranks what they find on disk, the newest first, and in
// their agent's memory.
void Fleet::ShowState(SimWorker& worker) {
  for (SimRank& rank : worker.agent->ranks) {
    rank.position.clear_checkpoints();
    rank.position.clear_copies();
    if (worker.steps == 0) continue;
    const auto& saved = checkpoints_[worker.job_uid];
    for (auto ref = saved.rbegin(); ref != saved.rend(); ++ref) {
      if (rank.position.checkpoints_size() == v1alpha1::kMaxCheckpoints) break;
      *rank.position.add_checkpoints() = *ref;
    }
    if (worker.copy) *rank.position.add_copies() = *worker.copy;
  }
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
  id.set_job(worker.job);
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
  stream->gate = GateOf(host);
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

// A process that has been killed in the middle of its work sends nothing more.
SimStream::Gate Fleet::GateOf(int host) {
  return [this, host, process = coordinators_.process(host)](const OperatorMessage& message,
                                                             bool before) {
    const absl::string_view order = OrderName(message);
    if (coordinators_.process(host) == process && order_hook_ && !order.empty()) {
      order_hook_(host, std::string(order), before);
    }
    return coordinators_.process(host) == process ? absl::OkStatus()
                                                  : absl::UnavailableError("the process is dead");
  };
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
  while (!worker.stream->inbox.empty()) {
    const OperatorMessage message = std::move(worker.stream->inbox.front());
    worker.stream->inbox.pop_front();
    Handle(worker, message);
  }
}

void Fleet::Handle(SimWorker& worker, const OperatorMessage& message) {
  SimAgent& agent = *worker.agent;
  if (message.has_save() && ToStamp(message.save().round()) == agent.round) {
    worker.save_wanted = true;
  }
  const std::optional<Order> order = ToOrder(message, agent);
  if (!order) return;
  const RoundStamp before = agent.seen;
  agent.Obey(*order, now());
  if (message.has_prepare() && agent.round == ToStamp(message.prepare().round())) {
    const v1alpha1::TrainingJobSpec& spec = message.prepare().spec();
    worker.steps = spec.has_trainer() ? spec.trainer().train().steps() : 0;
    const bool copies = spec.checkpoint().has_memory();
    worker.copy_every = copies ? std::max<int64_t>(spec.checkpoint().memory().every_steps(), 1) : 0;
    worker.save_wanted = false;
    int64_t& newest = prepared_[worker.job_uid];
    newest = std::max(newest, agent.round.round);
  }
  promises_.AgentMoved(worker.pod, before, agent.seen);
  // An order is sent only after the status has recorded it, and the status never goes back, so
  // reading it at delivery is sound.
  const auto job = api_.Get(kube::kTrainingJobs, {"default", worker.job});
  if (!job.ok() || kube::UidOf(*job) != worker.job_uid) return;
  promises_.OrderSent(worker.job_uid, *order,
                      {JobNumber(*job, {"status", "term"}), JobNumber(*job, {"status", "round"})});
}

void Fleet::Report(SimWorker& worker) {
  AgentRegistry* registry = coordinators_.RegistryOf(worker.host);
  if (registry == nullptr) return;
  const SimAgent& agent = *worker.agent;
  AgentMessage message;
  // A new stream repeats what follows from the present state.
  const bool prepared = agent.phase == SimAgent::Phase::kPreparing;
  if (prepared && agent.ready && worker.told_ready != agent.ready->round) {
    worker.told_ready = agent.ready->round;
    *message.mutable_ready()->mutable_round() = ToProto(agent.ready->round);
    for (const auto& rank : agent.ready->ranks) *message.mutable_ready()->add_ranks() = rank;
    Must(registry->Receive(worker.attachment, message));
  }
  const bool joined =
      agent.joined && (agent.phase == SimAgent::Phase::kRunning || !agent.joined->error.empty());
  if (joined && worker.told_joined != agent.joined->round) {
    worker.told_joined = agent.joined->round;
    v1alpha1::WorkerJoined& report = *message.mutable_joined();
    *report.mutable_round() = ToProto(agent.joined->round);
    report.set_error(agent.joined->error);
    report.set_bad_checkpoint(agent.joined->bad_checkpoint);
    *report.mutable_version() = agent.joined->version;
    report.set_trajectory(agent.joined->trajectory);
    Must(registry->Receive(worker.attachment, message));
  }
  ReportFailures(*registry, worker);
  for (const v1alpha1::CheckpointReport& saved : worker.saved) {
    *message.mutable_checkpoint() = saved;
    Must(registry->Receive(worker.attachment, message));
  }
  worker.saved.clear();
  if (agent.finished && worker.told_finished != agent.finished->round) {
    worker.told_finished = agent.finished->round;
    v1alpha1::WorkerFinished& finished = *message.mutable_finished();
    *finished.mutable_round() = ToProto(agent.finished->round);
    finished.set_succeeded(agent.finished->succeeded);
    *finished.mutable_version() = agent.finished->version;
    if (worker.steps > 0) finished.mutable_durable()->set_step(agent.finished->durable_step);
    Must(registry->Receive(worker.attachment, message));
  }
  if (now() >= worker.beat_at) Beat(*registry, worker);
}

void Fleet::ReportFailures(AgentRegistry& registry, SimWorker& worker) {
  const SimAgent& agent = *worker.agent;
  AgentMessage message;
  for (; worker.told_exits < agent.exits().size(); ++worker.told_exits) {
    const ExitReport& exit = agent.exits()[worker.told_exits];
    v1alpha1::RankExited& report = *message.mutable_rank_exited();
    *report.mutable_round() = ToProto(exit.round);
    report.set_local_rank(exit.local_rank);
    report.set_exit_code(exit.exit_code);
    report.set_signal(exit.signal);
    report.set_restarted(exit.restarted);
    report.set_reason(exit.reason);
    Must(registry.Receive(worker.attachment, message));
  }
  for (; worker.told_stalls < agent.stalls().size(); ++worker.told_stalls) {
    const StallReport& stall = agent.stalls()[worker.told_stalls];
    *message.mutable_stalled()->mutable_round() = ToProto(stall.round);
    message.mutable_stalled()->set_error(stall.error);
    Must(registry.Receive(worker.attachment, message));
  }
}

void Fleet::Beat(AgentRegistry& registry, SimWorker& worker) {
  worker.beat_at = now() + AgentRegistry::kHeartbeat;
  const SimAgent& agent = *worker.agent;
  AgentMessage message;
  const bool reports = worker.steps > 0 || reported_command_steps_.has_value();
  if (agent.leads() && agent.phase == SimAgent::Phase::kRunning && reports) {
    *message.mutable_steps()->mutable_round() = ToProto(agent.round);
    v1alpha1::StepReport& step = *message.mutable_steps()->add_steps();
    if (worker.steps > 0) {
      *step.mutable_version() = agent.ranks.front().position.applied();
    } else {
      step.mutable_version()->set_step(commands_[worker.job_uid].done);
      step.set_total_steps(*reported_command_steps_);
    }
    step.set_applied(true);
    step.set_loss(1.0);
    *step.mutable_times() = worker.times;
    worker.times.Clear();
    if (tokens_per_report_ > 0) {
      step.set_tokens(tokens_per_report_);
      step.set_finished_at_us(absl::ToUnixMicros(clock_.Wall()));
      if (use_) step.set_mean_busy_seconds(use_(Training(worker.job_uid)));
    }
  } else {
    *message.mutable_heartbeat()->mutable_round() = ToProto(agent.round);
  }
  Must(registry.Receive(worker.attachment, message));
}

}  // namespace muster::control
