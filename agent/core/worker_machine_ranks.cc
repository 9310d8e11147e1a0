// The part of the worker machine that deals with its ranks: processes, rounds, ends.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/core/copies_layout.h"
#include "agent/core/worker_machine.h"
#include "base/exit_codes.h"
#include "proto/muster/v1alpha1/round_id.h"

namespace muster::agent {

using v1alpha1::AgentMessage;
using v1alpha1::ToTrainer;

namespace {

// A process whose link has closed may take this long to end by itself.
constexpr absl::Duration kLinkLostGrace = absl::Seconds(1);

// More than any rank restores; the sum over a worker's ranks cannot overflow.
constexpr int64_t kMostRestored = int64_t{1} << 53;

// A process killed by others closes its link first, too; LinkLost requires the agent's own SIGKILL.
std::string ExitReason(const RankSlot& slot, const RankEnded& event) {
  const bool killed = event.signal == SIGKILL;
  const bool ours = killed && slot.kill_sent;
  if (ours && slot.kill_reason == KillReason::kSilent) return "DeadlineExceeded";
  if (ours && slot.kill_reason == KillReason::kLinkLost) return "LinkLost";
  if (killed && event.out_of_memory) return "OOMKilled";
  return event.signal != 0 ? "Signaled" : "Exited";
}

// Returns the last 8 KiB of a process's text, as ASCII that a protobuf string accepts.
std::string Evidence(std::string text) {
  constexpr size_t kMaxBytes = 8 << 10;
  if (text.size() > kMaxBytes) text.erase(0, text.size() - kMaxBytes);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return text;
}

}  // namespace

void WorkerMachine::PrepareTrainers(bool fresh, bool knows_end) {
  for (RankSlot& slot : slots_) {
    const bool failed = slot.finished && !slot.succeeded;
    // The order and the rank's failure crossed: the failure is reported once the process is gone.
    if (failed && slot.alive && !fresh && !knows_end) continue;
    const bool ending = fresh || failed;
    slot.ResetRound();
    if (!slot.alive) {
      WantProcess(slot, absl::ZeroDuration());  // the operator has decided on another attempt
    } else if (ending) {
      Kill(slot, SIGKILL, KillReason::kReplaced);
    } else {
      SendPrepare(slot);
    }
  }
}

// A command has no notion of rounds: every process is ended, and all start anew with Go.
void WorkerMachine::PrepareCommand() {
  for (RankSlot& slot : slots_) {
    if (slot.alive && slot.kill_reason == KillReason::kNone) {
      EndGracefully(slot, KillReason::kReplaced, config_.term_grace);
    }
  }
  if (AnyAlive()) return;
  if (first_rank_ == 0 && port_ == 0) {
    if (!port_asked_) Do(ReservePort{round_});
    port_asked_ = true;
    return;
  }
  for (RankSlot& slot : slots_) {
    slot.ResetRound();
    slot.ready.emplace();
    slot.ready->set_local_rank(slot.local_rank);
    slot.ready->set_endpoint(
        absl::StrCat(config_.host, ":", first_rank_ + slot.local_rank == 0 ? port_ : 0));
  }
  ReportReadyIfComplete();
}

void WorkerMachine::On(const PortReserved& event) {
  if (phase_ != Phase::kPreparing || !Same(event.round, round_) || runs_trainer()) return;
  port_ = event.port;
  PrepareCommand();
}

void WorkerMachine::LaunchCommand(const v1alpha1::GoRound& go) {
  for (RankSlot& slot : slots_) Launch(slot, go.endpoint());
  phase_ = Phase::kRunning;
  failure_code_ = 0;
  joined_.emplace();
  *joined_->mutable_round() = round_;
  joined_->set_trajectory(trajectory_);
  ReportIfAttached(*joined_);
}

void WorkerMachine::WantProcess(RankSlot& slot, absl::Duration delay) {
  slot.wanted = true;
  slot.launch_at = now_ + delay;
  if (delay == absl::ZeroDuration()) WatchSlot(slot);
}

void WorkerMachine::Launch(RankSlot& slot, const std::string& master_endpoint) {
  slot.wanted = false;
  slot.alive = true;
  slot.restarts = slot.generation++;
  slot.launched_at = slot.last_message_at = now_;
  slot.got_hello = false;
  slot.reported_at.reset();
  slot.kill_reason = KillReason::kNone;
  slot.kill_at = absl::InfiniteFuture();
  slot.kill_sent = false;
  LaunchRank launch;
  launch.generation = slot.generation;
  launch.placement = {.rank = first_rank_ + slot.local_rank,
                      .local_rank = slot.local_rank,
                      .world_size = world_size_,
                      .local_world_size = config_.ranks,
                      .group_rank = group_rank_,
                      .group_world_size = group_world_size_,
                      .restart_count = slot.restarts,
                      .master_endpoint = master_endpoint};
  // Where there are spares, any worker may have any part of the work.
  if (round_spec_.workers().spares() > 0) launch.placement.completion_index = group_rank_;
  Do(std::move(launch));
  if (!runs_trainer()) return;
  ToTrainer message;
  auto* configure = message.mutable_configure();
  *configure->mutable_spec() = round_spec_;
  const std::string& ns = config_.worker.namespace_();
  configure->set_job(absl::StrCat(ns, ns.empty() ? "" : "/", config_.worker.job()));
  configure->set_job_uid(config_.worker.job_uid());
  configure->set_local_rank(slot.local_rank);
  configure->set_heartbeat_seconds(0.25);
  if (keeps_copies()) {
    configure->set_copies_directory(CopiesOfRank(config_.copies_directory, slot.local_rank));
  }
  ToRank(slot, std::move(message));
  if (phase_ == Phase::kPreparing && !ready_.has_value()) SendPrepare(slot);
}

void WorkerMachine::SendPrepare(RankSlot& slot) {
  if (fetching_) return;
  ToTrainer message;
  *message.mutable_prepare()->mutable_round() = round_;
  message.mutable_prepare()->set_rank(first_rank_ + slot.local_rank);
  message.mutable_prepare()->set_world_size(world_size_);
  *message.mutable_prepare()->mutable_spec() = round_spec_;
  message.mutable_prepare()->set_trajectory(trajectory_);
  message.mutable_prepare()->set_secret(secret_);
  AddReplicaFolders(slot.local_rank, *message.mutable_prepare());
  ToRank(slot, std::move(message));
}

void WorkerMachine::Kill(RankSlot& slot, int signal, KillReason reason) {
  if (!slot.alive) return;
  if (slot.kill_reason == KillReason::kNone) slot.kill_reason = reason;
  if (signal == SIGKILL) {
    slot.kill_at = absl::InfiniteFuture();
    slot.kill_sent = true;
  }
  Do(KillRank{slot.local_rank, slot.generation, signal});
}

void WorkerMachine::EndGracefully(RankSlot& slot, KillReason reason, absl::Duration grace) {
  if (!slot.alive) return;
  slot.kill_at = std::min(slot.kill_at, now_ + grace);
  if (!runs_trainer()) TellToLeave(slot, slot.kill_at);
  Kill(slot, SIGTERM, reason);
}

bool WorkerMachine::IsSilent(const RankSlot& slot) const {
  if (!runs_trainer() || slot.finished || slot.kill_reason != KillReason::kNone) return false;
  const absl::Duration deadline =
      slot.got_hello ? settings_->rank_deadline : config_.start_deadline;
  if (now_ - slot.last_message_at > deadline) return true;
  return phase_ == Phase::kPreparing && !slot.ready.has_value() && now_ > prepare_deadline_ &&
         now_ - slot.launched_at > config_.start_deadline;
}

void WorkerMachine::WatchSlot(RankSlot& slot) {
  if (slot.wanted && now_ >= slot.launch_at && phase_ != Phase::kStopping) return Launch(slot, "");
  if (!slot.alive) return;
  if (now_ >= slot.kill_at) return Kill(slot, SIGKILL, slot.kill_reason);
  if (IsSilent(slot)) Kill(slot, SIGKILL, KillReason::kSilent);
}

void WorkerMachine::On(const RankMessageReceived& event) {
  RankSlot& slot = slots_[event.local_rank];
  if (!slot.alive || event.generation != slot.generation) return;
  slot.last_message_at = now_;
  if (!runs_trainer()) return OnCommandMessage(slot, event.message);
  const v1alpha1::FromTrainer& message = event.message;
  switch (message.kind_case()) {
    case v1alpha1::FromTrainer::kHello:
    case v1alpha1::FromTrainer::kHeartbeat:
      slot.got_hello = true;
      return;
    case v1alpha1::FromTrainer::kReady:
      return OnReady(slot, message.ready());
    case v1alpha1::FromTrainer::kJoined:
      return OnJoined(slot, message.joined());
    case v1alpha1::FromTrainer::kSteps: {
      if (!Same(message.steps().round(), round_)) return;
      AgentMessage report;
      *report.mutable_steps() = message.steps();
      return Report(std::move(report));
    }
    case v1alpha1::FromTrainer::kCheckpoint:
      return OnCheckpoint(message.checkpoint());
    case v1alpha1::FromTrainer::kStalled:
      return OnStalled(slot, message.stalled());
    case v1alpha1::FromTrainer::kFinished:
      return OnFinished(slot, message.finished());
    case v1alpha1::FromTrainer::KIND_NOT_SET:
      return;
  }
}

void WorkerMachine::OnReady(RankSlot& slot, const v1alpha1::TrainerReady& ready) {
  if (phase_ != Phase::kPreparing || !Same(ready.round(), round_)) return;
  slot.ready = ready.ready();
  slot.ready->set_local_rank(slot.local_rank);
  ReportReadyIfComplete();
}

void WorkerMachine::OnJoined(RankSlot& slot, const v1alpha1::WorkerJoined& joined) {
  if (phase_ != Phase::kJoining || !Same(joined.round(), round_)) return;
  std::string error = joined.error();
  if (error.empty() && joined.trajectory() != trajectory_) {
    error = absl::StrCat("it trains by spec \"", joined.trajectory(), "\", but the round by \"",
                         trajectory_, "\"");
  }
  if (!error.empty()) {
    joined_ = joined;
    joined_->set_error(absl::StrCat("rank ", first_rank_ + slot.local_rank, ": ", error));
    phase_ = Phase::kWaiting;
    return ReportIfAttached(*joined_);
  }
  slot.joined = true;
  slot.restored_bytes = std::clamp(joined.restored_bytes(), int64_t{0}, kMostRestored);
  slot.restore_seconds = joined.restore_seconds();
  slot.links.assign(joined.links().begin(), joined.links().end());
  for (const RankSlot& other : slots_) {
    if (!other.joined) return;
  }
  joined_ = joined;
  NoteRestored(*joined_);
  phase_ = Phase::kRunning;
  failure_code_ = 0;
  ReportIfAttached(*joined_);
}

// The worker read and measured what its ranks did, and took as long as the slowest.
void WorkerMachine::NoteRestored(v1alpha1::WorkerJoined& joined) const {
  int64_t bytes = 0;
  double seconds = 0;
  joined.clear_links();
  for (const RankSlot& slot : slots_) {
    for (const v1alpha1::LinkSpeed& link : slot.links) *joined.add_links() = link;
    bytes += slot.restored_bytes;
    seconds = std::max(seconds, slot.restore_seconds);
  }
  joined.set_restored_bytes(bytes);
  joined.set_restore_seconds(seconds);
}

void WorkerMachine::OnStalled(RankSlot& slot, const v1alpha1::RankStalled& stalled) {
  if (!Same(stalled.round(), round_)) return;
  waits_for_save_ = false;  // no peers are left to write it with
  if (phase_ == Phase::kJoining || phase_ == Phase::kRunning) phase_ = Phase::kWaiting;
  AgentMessage report;
  *report.mutable_stalled() = stalled;
  report.mutable_stalled()->set_local_rank(slot.local_rank);
  Report(std::move(report));
}

void WorkerMachine::OnCheckpoint(const v1alpha1::CheckpointReport& checkpoint) {
  if (checkpoint.phase() != v1alpha1::CheckpointReport::STARTED) waits_for_save_ = false;
  // The rank tries again until there is room; the operator says when that is not waited for.
  const bool failed = checkpoint.phase() == v1alpha1::CheckpointReport::FAILED;
  if (failed && phase_ == Phase::kStopping && stop_cause_ == StopCause::kOrder && attached_) {
    stop_deadline_ = std::max(stop_deadline_, now_ + config_.save_deadline);
  }
  AgentMessage report;
  *report.mutable_checkpoint() = checkpoint;
  Report(std::move(report));
}

void WorkerMachine::OnFinished(RankSlot& slot, const v1alpha1::TrainerFinished& finished) {
  slot.finished = true;
  slot.succeeded = finished.succeeded();
  slot.version = finished.version();
  slot.durable.reset();
  if (finished.has_durable()) slot.durable = finished.durable();
  slot.times = finished.times();
  if (phase_ == Phase::kStopping || phase_ == Phase::kFinished) return;
  if (finished.succeeded()) return FinishIfComplete();
  // The rank failed for good. Its exit code, which shows whether a retry can help, follows at once.
  slot.message = finished.message();
  slot.kill_at = std::min(slot.kill_at, now_ + kLinkLostGrace);
}

void WorkerMachine::FinishIfComplete() {
  for (const RankSlot& slot : slots_) {
    if (!slot.finished || !slot.succeeded) return;
  }
  FinishWorker(true, 0, "");
}

void WorkerMachine::FinishWorker(bool succeeded, int exit_code, const std::string& message) {
  finished_.emplace();
  *finished_->mutable_round() = round_;
  finished_->set_succeeded(succeeded);
  finished_->set_exit_code(exit_code);
  finished_->set_message(message);
  for (const RankSlot& slot : slots_) {
    if (slot.version.step() >= finished_->version().step()) {
      *finished_->mutable_version() = slot.version;
    }
    // Rank 0 completes a checkpoint, and may run on another worker.
    if (slot.durable && slot.durable->step() >= finished_->durable().step()) {
      *finished_->mutable_durable() = *slot.durable;
    }
  }
  *finished_->mutable_times() = slots_.front().times;
  if (!succeeded) failure_code_ = exit_code;
  if (phase_ != Phase::kStopping) phase_ = Phase::kFinished;
  ReportIfAttached(*finished_);
}

void WorkerMachine::On(const RankLinkClosed& event) {
  RankSlot& slot = slots_[event.local_rank];
  if (!slot.alive || event.generation != slot.generation) return;
  if (slot.kill_reason == KillReason::kNone) slot.kill_reason = KillReason::kLinkLost;
  slot.kill_at = std::min(slot.kill_at, now_ + kLinkLostGrace);
}

void WorkerMachine::On(const RankEnded& event) {
  RankSlot& slot = slots_[event.local_rank];
  if (!slot.alive || event.generation != slot.generation) return;
  slot.alive = false;
  slot.kill_at = absl::InfiniteFuture();
  FlushCommandSteps(/*now=*/true);
  FlushCommandSaved(/*now=*/true);
  if (phase_ == Phase::kStopping) {
    // AdvanceStop counts the remaining ranks. Ranks of a command save and end one by one.
    if (runs_trainer()) waits_for_save_ = false;
    return;
  }
  // A rank that ends before the first round is started again, and its end reported, with that
  // round.
  if (runs_trainer() && round_.round() == 0) return slot.ResetRound();
  if (slot.kill_reason == KillReason::kReplaced) {
    return runs_trainer() ? WantProcess(slot, absl::ZeroDuration()) : PrepareCommand();
  }
  if (!runs_trainer()) return OnCommandEnded(slot, event);
  if (!slot.finished) return OnRankFailed(slot, event);
  // One failed rank is enough: the others would wait for it.
  if (!slot.succeeded && phase_ != Phase::kFinished) {
    FinishWorker(false, event.signal == 0 && event.code != 0 ? event.code : kExitFailed,
                 slot.message);
  }
}

void WorkerMachine::OnCommandEnded(RankSlot& slot, const RankEnded& event) {
  if (event.code != 0 || event.signal != 0) return OnRankFailed(slot, event);
  slot.finished = slot.succeeded = true;
  FinishIfComplete();
}

void WorkerMachine::OnRankFailed(RankSlot& slot, const RankEnded& event) {
  slot.ready.reset();
  failure_code_ = event.code != 0 ? event.code : 1;
  const bool restart = runs_trainer() && settings_->restart_rank && phase_ != Phase::kFinished;
  AgentMessage report;
  auto* exited = report.mutable_rank_exited();
  *exited->mutable_round() = round_;
  exited->set_local_rank(slot.local_rank);
  exited->set_rank(first_rank_ + slot.local_rank);
  exited->set_exit_code(event.code);
  exited->set_signal(event.signal);
  exited->set_restarted(restart);
  exited->set_reason(ExitReason(slot, event));
  exited->set_log_tail(Evidence(event.log_tail));
  Report(std::move(report));
  // Before this worker has answered Prepare, the next process can still take part in the round.
  const bool still_preparing = phase_ == Phase::kPreparing && !ready_.has_value();
  if (phase_ != Phase::kFinished && !still_preparing) phase_ = Phase::kWaiting;
  if (restart) WantProcess(slot, slot.NextBackoff(now_, settings_->restart_backoff));
}

}  // namespace muster::agent
