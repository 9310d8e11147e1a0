#include "agent/core/worker_machine.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "agent/core/copies_layout.h"
#include "agent/core/message_fit.h"
#include "base/byte_text.h"
#include "base/exit_codes.h"
#include "google/protobuf/util/message_differencer.h"
#include "proto/muster/v1alpha1/memory_copies.h"
#include "proto/muster/v1alpha1/protocol.h"
#include "proto/muster/v1alpha1/round_id.h"

namespace muster::agent {

using google::protobuf::util::MessageDifferencer;
using v1alpha1::AgentMessage;
using v1alpha1::FromTrainer;
using v1alpha1::RoundId;
using v1alpha1::ToTrainer;

namespace {

// A gap between ticks longer than this means that the agent itself was not running.
constexpr absl::Duration kLongTick = absl::Seconds(1);

// The part of the operator's patience with a prepared round that may be spent on fetching; the rest
// is for the ranks to start.
constexpr double kShareOfPrepare = 0.5;

// A script may report every step, and steps may be fast. Of its checkpoints the newest counts.
constexpr absl::Duration kBetweenBatches = absl::Milliseconds(100);
// The operator takes some thousand steps a second of one worker; of more the newest count.
constexpr int kMostOfABatch = 200;

void SetTunings(const v1alpha1::TuneRun& tune, v1alpha1::TrainingJobSpec& spec) {
  auto& tunings = *spec.mutable_trainer()->mutable_tunings();
  tunings.Clear();
  for (const v1alpha1::Tuning& tuning : tune.tunings()) {
    v1alpha1::TuningSpec& set = *tunings.Add();
    if (tuning.step() > 0) set.set_from_step(tuning.step());
    if (tuning.has_learning_rate()) set.set_learning_rate(tuning.learning_rate());
    if (tuning.has_clip_norm()) set.set_clip_norm(tuning.clip_norm());
  }
}

// Ranks take other tunings with the round itself, without a new start.
bool StartsAlike(v1alpha1::TrainingJobSpec a, v1alpha1::TrainingJobSpec b) {
  if (a.has_trainer()) a.mutable_trainer()->clear_tunings();
  if (b.has_trainer()) b.mutable_trainer()->clear_tunings();
  return MessageDifferencer::Equals(a, b);
}

void Put(AgentMessage& message, const v1alpha1::WorkerReady& v) { *message.mutable_ready() = v; }
void Put(AgentMessage& message, const v1alpha1::WorkerJoined& v) { *message.mutable_joined() = v; }
void Put(AgentMessage& message, const v1alpha1::ReplicasKept& v) {
  *message.mutable_replicas() = v;
}
void Put(AgentMessage& message, const v1alpha1::WorkerFinished& v) {
  *message.mutable_finished() = v;
}

}  // namespace

WorkerMachine::WorkerMachine(WorkerConfig config, absl::Time now)
    : config_(std::move(config)),
      slots_(static_cast<size_t>(config_.ranks)),
      detached_at_(now),
      next_heartbeat_(now),
      now_(now),
      last_tick_(now),
      last_event_(now) {
  for (int i = 0; i < config_.ranks; ++i) slots_[i].local_rank = i;
}

std::vector<Action> WorkerMachine::Handle(const Event& event, absl::Time now) {
  now_ = now;
  actions_.clear();
  if (phase_ == Phase::kEnded) return {};
  NoteFreeze(std::exchange(last_event_, now));
  std::visit([this](const auto& e) { On(e); }, event);
  if (phase_ == Phase::kStopping) AdvanceStop();
  return std::move(actions_);
}

void WorkerMachine::On(const StreamOpened&) {
  AgentMessage message;
  auto* hello = message.mutable_hello();
  *hello->mutable_worker() = config_.worker;
  *hello->mutable_seen() = seen_;
  if (phase_ == Phase::kRunning) {
    *hello->mutable_active() = round_;
    hello->set_first_rank(first_rank_);
  }
  hello->set_ranks(config_.ranks);
  hello->set_host(config_.host);
  hello->set_version(config_.version);
  *hello->mutable_protocols() = v1alpha1::OwnProtocols();
  said_loading_ = IsLoading();
  hello->set_loading(said_loading_);
  Say(std::move(message));
}

void WorkerMachine::On(const StreamClosed& event) {
  if (attached_) detached_at_ = now_;
  attached_ = false;
  if (event.replaced && RunsCommand()) EndAtOnce("another incarnation runs in this worker's place");
}

void WorkerMachine::On(const OperatorMessageReceived& event) {
  const v1alpha1::OperatorMessage& message = event.message;
  switch (message.kind_case()) {
    case v1alpha1::OperatorMessage::kWelcome:
      return OnWelcome(message.welcome());
    case v1alpha1::OperatorMessage::kNotLeader:
      // Without an address there is no leader, but the operator is alive. With an address there is
      // a leader, perhaps out of this agent's reach, which counts a command's orphanDeadline from
      // its own last contact.
      if (!RunsCommand() || message.not_leader().address().empty()) detached_at_ = now_;
      return Do(Redial{message.not_leader().address(), "the peer is not the leader"});
    case v1alpha1::OperatorMessage::kPrepare:
      return OnPrepare(message.prepare());
    case v1alpha1::OperatorMessage::kGo:
      return OnGo(message.go());
    case v1alpha1::OperatorMessage::kStop:
      return OnStop(message.stop());
    case v1alpha1::OperatorMessage::kSave:
      return OnSave(message.save());
    case v1alpha1::OperatorMessage::kReplicate:
      return OnReplicate(message.replicate());
    case v1alpha1::OperatorMessage::kToDisk:
      return OnToDisk(message.to_disk());
    case v1alpha1::OperatorMessage::kTune:
      return OnTune(message.tune());
    case v1alpha1::OperatorMessage::KIND_NOT_SET:
      return;  // an order of a newer operator
  }
}

void WorkerMachine::OnWelcome(const v1alpha1::Welcome& welcome) {
  if (welcome.term() < term_ || welcome.term() < seen_.term()) {
    RoundId order;
    order.set_term(welcome.term());
    Refuse(order, "this worker has obeyed an operator of a later term");
    return Do(Redial{"", "the operator's term is over"});
  }
  const int protocol = v1alpha1::ChosenProtocol(welcome.protocol());
  if (!v1alpha1::IsSpoken(protocol)) {
    return Do(Redial{"", absl::StrCat("the operator chose protocol ", protocol,
                                      ", this agent speaks ", ToText(v1alpha1::OwnProtocols()))});
  }
  term_ = welcome.term();
  settings_ = ReadWelcome(welcome, config_);
  attached_ = true;
  next_heartbeat_ = now_;
  for (AgentMessage& report : buffer_.Take()) Say(std::move(report));
  ServeReplicas(settings_->spec);
  ReportState();
  StartEarly();
}

void WorkerMachine::StartEarly() {
  const bool first = phase_ == Phase::kWaiting && round_.round() == 0;
  if (!first || !runs_trainer() || slots_.front().generation > 0) return;
  round_spec_ = settings_->spec;
  round_spec_.clear_template_();  // a round's spec has none
  // The first round of a job is expected to have all workers, in the order of their indices.
  first_rank_ = config_.worker.index() * config_.ranks;
  group_rank_ = config_.worker.index();
  group_world_size_ = std::max(round_spec_.workers().count(), group_rank_ + 1);
  world_size_ = group_world_size_ * config_.ranks;
  for (RankSlot& slot : slots_) WantProcess(slot, absl::ZeroDuration());
}

bool WorkerMachine::IsLoading() const {
  // Before Welcome it is not known whether there are ranks to load.
  if (phase_ != Phase::kWaiting || round_.round() > 0) return false;
  if (!settings_.has_value()) return true;
  return runs_trainer() && std::any_of(slots_.begin(), slots_.end(), [](const RankSlot& slot) {
           return slot.alive && !slot.got_hello;
         });
}

void WorkerMachine::Refuse(const RoundId& order, const std::string& reason) {
  AgentMessage message;
  *message.mutable_refused()->mutable_order() = order;
  *message.mutable_refused()->mutable_seen() = seen_;
  message.mutable_refused()->set_reason(reason);
  Say(std::move(message));
}

std::string WorkerMachine::WhyNotPrepare(const v1alpha1::PrepareRound& prepare) const {
  if (Less(prepare.round(), seen_)) return "a later round was ordered";
  if (!settings_.has_value()) return "no welcome yet";
  if (phase_ == Phase::kStopping) return "this worker is stopping";
  if (Same(prepare.round(), seen_)) return "this round is past Prepare";
  if (RunsCommand() && HasSucceeded()) return "this worker's command has ended";
  const v1alpha1::Member& member = prepare.member();
  if (member.worker().index() != config_.worker.index() ||
      member.worker().incarnation() != config_.worker.incarnation()) {
    return "the order is for another worker";
  }
  if (member.ranks() != config_.ranks) {
    return absl::StrCat("this worker has ", config_.ranks, " ranks, not ", member.ranks());
  }
  if (member.first_rank() < 0 || member.first_rank() + member.ranks() > prepare.world_size()) {
    return absl::StrCat("rank ", member.first_rank() + member.ranks() - 1,
                        " is beyond the world size of ", prepare.world_size());
  }
  if (runs_trainer() && !prepare.spec().has_trainer()) return "the order has no spec.trainer";
  return "";
}

void WorkerMachine::OnPrepare(const v1alpha1::PrepareRound& prepare) {
  const bool repeated = Same(prepare.round(), round_) && phase_ == Phase::kPreparing;
  if (repeated) {
    if (ready_.has_value()) ReportIfAttached(*ready_);
    return;
  }
  if (const std::string reason = WhyNotPrepare(prepare); !reason.empty()) {
    if (RunsCommand() && HasSucceeded()) ReportIfAttached(*finished_);
    return Refuse(prepare.round(), reason);
  }
  // Before their first round the ranks hold no state, but the spec that they were started with.
  const bool first = round_.round() == 0;
  const bool replaces = first ? !StartsAlike(round_spec_, prepare.spec()) : prepare.fresh();
  seen_ = round_ = prepare.round();
  AdoptRound(prepare);
  phase_ = Phase::kPreparing;
  prepare_deadline_ = now_ + settings_->prepare_deadline;
  ready_.reset();
  joined_.reset();
  const bool knows_end = finished_.has_value();
  finished_.reset();
  port_ = 0;
  port_asked_ = false;
  ServeReplicas(round_spec_);
  if (first) FetchReplicas(prepare);
  runs_trainer() ? PrepareTrainers(replaces, knows_end) : PrepareCommand();
}

void WorkerMachine::AdoptRound(const v1alpha1::PrepareRound& prepare) {
  round_spec_ = prepare.spec();
  trajectory_ = prepare.trajectory();
  secret_ = prepare.secret();
  first_rank_ = prepare.member().first_rank();
  world_size_ = prepare.world_size();
  group_rank_ = prepare.group_rank();
  group_world_size_ = prepare.group_world_size();
}

void WorkerMachine::OnGo(const v1alpha1::GoRound& go) {
  if (Less(go.round(), seen_)) return Refuse(go.round(), "a later round was ordered");
  if (!Same(go.round(), round_)) return Refuse(go.round(), "this round was not prepared");
  if (phase_ == Phase::kStopping) return Refuse(go.round(), "this worker is stopping");
  if (!ready_.has_value()) return Refuse(go.round(), "this worker is not ready");
  if (phase_ == Phase::kWaiting) {
    if (joined_.has_value() && joined_->error().empty()) return;  // it ran and has failed since
    joined_.emplace();
    *joined_->mutable_round() = round_;
    joined_->set_error("a rank of this worker ended after it was ready");
    return ReportIfAttached(*joined_);
  }
  // Ranks that have tested their links may wait for the order to come again.
  const bool starts = phase_ == Phase::kRunning && runs_trainer() && go.has_link_test();
  if (phase_ != Phase::kPreparing && !starts) return;  // a repeated order
  if (!runs_trainer()) return LaunchCommand(go);
  if (!starts) phase_ = Phase::kJoining;
  for (const RankSlot& slot : slots_) {
    ToTrainer message;
    *message.mutable_go() = go;
    ToRank(slot, std::move(message));
  }
}

void WorkerMachine::OnStop(const v1alpha1::StopWorker& stop) {
  if (Less(stop.round(), seen_)) return Refuse(stop.round(), "a later round was ordered");
  seen_ = stop.round();
  BeginStop(StopCause::kOrder, stop.save(), failure_code_, stop.reason());
}

void WorkerMachine::OnSave(const v1alpha1::SaveCheckpoint& save) {
  if (Less(save.round(), seen_)) return Refuse(save.round(), "a later round was ordered");
  if (phase_ != Phase::kRunning || !(runs_trainer() || CommandHearsNotices()))
    return Refuse(save.round(), "no rank is stepping");
  for (const RankSlot& slot : slots_) {
    ToTrainer message;
    *message.mutable_save() = save;
    *message.mutable_save()->mutable_round() = round_;
    ToRank(slot, std::move(message));
  }
}

// A rank that starts later in the round has the list by its spec.
void WorkerMachine::OnTune(const v1alpha1::TuneRun& tune) {
  if (Less(tune.round(), seen_)) return Refuse(tune.round(), "a later round was ordered");
  if (!Same(tune.round(), round_)) return Refuse(tune.round(), "this round was not prepared");
  if (!runs_trainer() || phase_ == Phase::kStopping) return;
  SetTunings(tune, round_spec_);
  for (const RankSlot& slot : slots_) {
    ToTrainer message;
    *message.mutable_tune() = tune;
    ToRank(slot, std::move(message));
  }
}

void WorkerMachine::On(const Tick&) {
  const absl::Duration gap = now_ - last_tick_;
  last_tick_ = now_;
  if (gap > kLongTick) ForgiveSilence(gap);
  FlushCommandSteps(/*now=*/false);
  FlushCommandSaved(/*now=*/false);
  for (RankSlot& slot : slots_) WatchSlot(slot);
  if (attached_ && (now_ >= next_heartbeat_ || said_loading_ != IsLoading())) Heartbeat();
  const absl::Duration deadline =
      settings_.has_value() ? settings_->orphan_deadline : config_.orphan_deadline;
  if (!attached_ && phase_ != Phase::kStopping && now_ - detached_at_ > deadline) {
    BeginStop(StopCause::kOrphaned, /*save=*/true, HasSucceeded() ? kExitOk : kExitOrphaned,
              absl::StrCat("no operator for ", absl::FormatDuration(deadline)));
  }
}

void WorkerMachine::Heartbeat() {
  next_heartbeat_ = now_ + settings_->heartbeat;
  said_loading_ = IsLoading();
  AgentMessage message;
  *message.mutable_heartbeat()->mutable_round() = round_;
  message.mutable_heartbeat()->set_loading(said_loading_);
  Say(std::move(message));
}

// The agent was stopped or starved, so it could neither hear its ranks nor reach the operator:
// extends their deadlines by that time.
void WorkerMachine::ForgiveSilence(absl::Duration gap) {
  for (RankSlot& slot : slots_) slot.last_message_at = std::min(now_, slot.last_message_at + gap);
  prepare_deadline_ += gap;
  // The operator grants a command no extension: it replaces the worker at the deadline.
  if (!CountsFreezes()) detached_at_ = std::min(now_, detached_at_ + gap);
}

// After a freeze the ranks continue to write, although the operator may have replaced them. The
// agent ends them before it handles anything else, without a grace period.
void WorkerMachine::NoteFreeze(absl::Time awake) {
  if (!CountsFreezes() || now_ - awake <= kLongTick) return;
  const absl::Time contact = attached_ ? awake : detached_at_;
  // Shortly past the deadline there is still time for SIGTERM before the operator relies on it.
  if (now_ - contact <= settings_->orphan_deadline + config_.term_grace) return;
  EndAtOnce(absl::StrCat("this machine stood still for ", absl::FormatDuration(now_ - awake),
                         "; the operator has replaced this worker or will"));
}

// The functions from here on deal with copies beyond those of the ranks' memory: replicas of
// others' copies, which this agent keeps, of its own ranks' copies, which another keeps, and copies
// on the disk of the node.

void WorkerMachine::ServeReplicas(const v1alpha1::TrainingJobSpec& spec) {
  if (!WantsReplicas(spec) && !WantsCopiesOnDisk(spec)) return;
  const v1alpha1::MemoryCheckpointSpec& memory = spec.checkpoint().memory();
  // Half of the memory is for this worker's own copies.
  const int64_t room = WantsReplicas(spec) ? ParseBytes(memory.size()).value_or(0) / 2 : 0;
  Do(agent::ServeReplicas{room, memory.disk().path()});
}

void WorkerMachine::FetchReplicas(const v1alpha1::PrepareRound& prepare) {
  if (prepare.fresh()) return;
  const bool elsewhere = WantsReplicas(round_spec_) && !prepare.replicas_at().empty();
  if (!elsewhere && !WantsCopiesOnDisk(round_spec_)) return;
  fetching_ = true;
  // A spare takes the place of another worker.
  const int of = prepare.has_copies_of() ? prepare.copies_of() : config_.worker.index();
  Do(agent::FetchReplicas{of,
                          {prepare.replicas_at().begin(), prepare.replicas_at().end()},
                          kShareOfPrepare * settings_->prepare_deadline});
}

void WorkerMachine::AddReplicaFolders(int local_rank, v1alpha1::TrainerPrepare& prepare) const {
  if (!keeps_copies()) return;
  for (const int index : replicas_in_memory_) {
    prepare.add_replica_directories(
        CopiesOfRank(ReplicasOfWorker(config_.copies_directory, index), local_rank));
  }
}

void WorkerMachine::On(const ReplicasChanged& event) {
  kept_ = event.kept;
  replicas_in_memory_ = event.in_memory;
  ReportIfAttached(*kept_);
}

void WorkerMachine::On(const ReplicasFetched&) {
  fetching_ = false;
  if (phase_ != Phase::kPreparing || ready_.has_value()) return;
  for (RankSlot& slot : slots_) {
    if (slot.alive && slot.kill_reason == KillReason::kNone) SendPrepare(slot);
  }
}

// A rank whose process has ended hears nothing: the next one is in another round, in which its peer
// is named again.
void WorkerMachine::On(const ReplicaReported& event) {
  const RankSlot& slot = slots_[event.local_rank];
  if (phase_ != Phase::kRunning || !slot.alive) return;
  v1alpha1::ToTrainer message;
  *message.mutable_replica() = event.report;
  ToRank(slot, std::move(message));
}

void WorkerMachine::OnReplicate(const v1alpha1::ReplicateCopies& replicate) {
  if (!Same(replicate.round(), round_)) return;
  std::optional<v1alpha1::ReplicaPeer> peer;
  if (replicate.has_peer()) peer = replicate.peer();
  Do(ReplicateTo{std::move(peer)});
}

void WorkerMachine::OnToDisk(const v1alpha1::CopyToDisk& order) {
  if (Same(order.round(), round_)) Do(KeepOnDisk{order.from_step()});
}

// The functions from here on hear a job's own command and give it notice. It says nothing unless
// its script uses the client (agent/client), so nothing is required of it.

void WorkerMachine::OnCommandMessage(RankSlot& slot, const FromTrainer& message) {
  if (message.has_hello()) {
    slot.got_hello = true;
    return;
  }
  // A process that is being replaced belongs to an earlier round. Rank 0 speaks for all.
  if (phase_ == Phase::kPreparing || first_rank_ + slot.local_rank != 0) return;
  if (message.has_steps()) AddCommandSteps(slot, message.steps());
  if (!message.has_checkpoint()) return;
  command_saved_ = message.checkpoint();
  command_saved_->mutable_version()->set_attempt(round_.round());
  FlushCommandSaved(/*now=*/false);
}

// The time since the last report was spent on its steps. The first one of a process also has the
// time that the script took to load, which cannot be told apart.
void WorkerMachine::AddCommandSteps(RankSlot& slot, const v1alpha1::StepReports& reports) {
  *command_steps_.mutable_round() = round_;
  for (const v1alpha1::StepReport& reported : reports.steps()) {
    v1alpha1::StepReport& step = *command_steps_.add_steps();
    step = reported;
    step.mutable_version()->set_attempt(round_.round());
    const bool first = !slot.reported_at.has_value();
    const double seconds =
        absl::ToDoubleSeconds(now_ - slot.reported_at.value_or(slot.launched_at));
    first ? step.mutable_times()->set_init(seconds) : step.mutable_times()->set_compute(seconds);
    slot.reported_at = now_;
  }
  auto* steps = command_steps_.mutable_steps();
  const int too_many = steps->size() - kMostOfABatch;
  if (too_many > 0) steps->DeleteSubrange(0, too_many);
}

void WorkerMachine::FlushCommandSteps(bool now) {
  if (command_steps_.steps().empty()) return;
  if (!now && now_ - command_steps_sent_ < kBetweenBatches) return;
  command_steps_sent_ = now_;
  AgentMessage report;
  *report.mutable_steps() = std::exchange(command_steps_, {});
  Report(std::move(report));
}

// The steps that the checkpoint has in it go first.
void WorkerMachine::FlushCommandSaved(bool now) {
  if (!command_saved_.has_value()) return;
  if (!now && now_ - command_saved_sent_ < kBetweenBatches) return;
  command_saved_sent_ = now_;
  FlushCommandSteps(/*now=*/true);
  AgentMessage report;
  *report.mutable_checkpoint() = *std::exchange(command_saved_, std::nullopt);
  Report(std::move(report));
}

bool WorkerMachine::CommandHearsNotices() const {
  return RunsCommand() && std::any_of(slots_.begin(), slots_.end(), [](const RankSlot& slot) {
           return slot.alive && slot.got_hello;
         });
}

void WorkerMachine::TellToLeave(RankSlot& slot, absl::Time deadline) {
  if (!slot.got_hello) return;
  ToTrainer message;
  message.mutable_stop()->set_save(true);
  message.mutable_stop()->set_seconds(absl::ToDoubleSeconds(deadline - now_));
  ToRank(slot, std::move(message));
}

void WorkerMachine::Say(AgentMessage message) {
  for (AgentMessage& part : FitToLimits(std::move(message))) Do(SendToOperator{std::move(part)});
}

void WorkerMachine::Report(AgentMessage message) {
  if (attached_) return Say(std::move(message));
  buffer_.Add(std::move(message));
}

template <typename T>
void WorkerMachine::ReportIfAttached(const T& state) {
  if (!attached_) return;
  AgentMessage message;
  Put(message, state);
  Say(std::move(message));
}

void WorkerMachine::ReportState() {
  if (kept_.has_value()) ReportIfAttached(*kept_);
  if (phase_ == Phase::kPreparing && ready_.has_value()) ReportIfAttached(*ready_);
  const bool joined =
      phase_ == Phase::kRunning || (joined_.has_value() && !joined_->error().empty());
  if (joined && joined_.has_value()) ReportIfAttached(*joined_);
  if (finished_.has_value()) ReportIfAttached(*finished_);
}

void WorkerMachine::ReportReadyIfComplete() {
  if (phase_ != Phase::kPreparing || ready_.has_value()) return;
  v1alpha1::WorkerReady ready;
  *ready.mutable_round() = round_;
  for (const RankSlot& slot : slots_) {
    if (!slot.ready.has_value()) return;
    *ready.add_ranks() = *slot.ready;
  }
  ready_ = std::move(ready);
  ReportIfAttached(*ready_);
}

void WorkerMachine::ToRank(const RankSlot& slot, ToTrainer message) {
  if (slot.alive) Do(SendToRank{slot.local_rank, std::move(message)});
}

bool WorkerMachine::AnyAlive() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const RankSlot& s) { return s.alive; });
}

// The instances used by the machine's other files.
template void WorkerMachine::ReportIfAttached(const v1alpha1::WorkerJoined&);
template void WorkerMachine::ReportIfAttached(const v1alpha1::WorkerFinished&);

}  // namespace muster::agent
