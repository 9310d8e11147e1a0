// The end of the worker machine: by order, by signal, or because no operator is left.
#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

#include "agent/core/worker_machine.h"
#include "base/exit_codes.h"
#include "proto/muster/v1alpha1/memory_copies.h"

namespace muster::agent {

using v1alpha1::ToTrainer;

void WorkerMachine::On(const Terminate& event) {
  ++signals_;
  if (phase_ != Phase::kStopping) {
    // The pod's exit code is the only remaining way to report that the work is done.
    const int code = HasSucceeded() ? +kExitOk : 128 + event.signal;
    return BeginStop(StopCause::kSignal, /*save=*/true, code, "terminated");
  }
  if (signals_ == 1) {
    // A stop by order continues, within the time that a terminated pod has.
    stop_deadline_ = std::min(stop_deadline_, now_ + config_.signal_save_deadline);
    if (runs_trainer() || ending_ranks_) return;
    for (RankSlot& slot : slots_) TellToLeave(slot, stop_deadline_);
  } else if (!ending_ranks_) {
    EndRanks(config_.term_grace);
  } else {
    for (RankSlot& slot : slots_) Kill(slot, SIGKILL, KillReason::kStopping);
  }
}

void WorkerMachine::BeginStop(StopCause cause, bool save, int exit_code,
                              const std::string& reason) {
  if (phase_ == Phase::kStopping) {
    // Ordered again, now without a checkpoint.
    if (!save && !ending_ranks_) EndRanks(config_.term_grace);
    return;
  }
  const bool was_running = phase_ == Phase::kRunning;
  const bool was_finished = phase_ == Phase::kFinished;
  phase_ = Phase::kStopping;
  stop_cause_ = cause;
  // One that has done its work is stopped for another reason only with the order to save.
  job_has_ended_ = cause == StopCause::kOrder && was_finished && HasSucceeded() && !save;
  exit_code_ = exit_code;
  exit_reason_ = reason;
  for (RankSlot& slot : slots_) slot.wanted = false;
  if (!runs_trainer()) return StopCommand(save, was_running);
  if (was_finished) return EndRanks(config_.term_grace);
  if (cause == StopCause::kSignal) {
    // Only this worker ends; if its ranks voted to stop, the others would stop too.
    if (!was_running) return EndRanks(config_.term_grace);
    waits_for_save_ = true;
    stop_deadline_ = now_ + config_.signal_save_deadline;
  } else {
    // Ranks whose round has broken save what they hold.
    const bool saving = save && round_.round() > 0;
    stop_deadline_ = now_ + (saving ? config_.save_deadline : config_.stop_deadline);
  }
  for (RankSlot& slot : slots_) {
    if (slot.alive && !slot.got_hello) {
      // It is still loading and has nothing to save.
      EndGracefully(slot, KillReason::kStopping, config_.term_grace);
      continue;
    }
    ToTrainer message;
    if (cause == StopCause::kSignal) {
      *message.mutable_save()->mutable_round() = round_;
    } else {
      message.mutable_stop()->set_save(save);
    }
    ToRank(slot, std::move(message));
  }
}

// Gives a command time to save, if it `may_save`.
void WorkerMachine::StopCommand(bool may_save, bool was_running) {
  // Without an operator, another worker may soon do the same work.
  if (!may_save || stop_cause_ == StopCause::kOrphaned) return EndRanks(config_.term_grace);
  // To a command that hears no notices, only the signal says that it has to save.
  if (!was_running || !CommandHearsNotices()) return EndRanks(BeforeFence(config_.command_grace));
  waits_for_save_ = true;
  const bool by_signal = stop_cause_ == StopCause::kSignal;
  stop_deadline_ =
      now_ + BeforeFence(by_signal ? config_.signal_save_deadline : config_.save_deadline);
  for (RankSlot& slot : slots_) TellToLeave(slot, stop_deadline_);
}

// Kills all ranks without grace, because another worker may do the same work by now.
void WorkerMachine::EndAtOnce(const std::string& reason) {
  for (RankSlot& slot : slots_) {
    slot.wanted = false;
    Kill(slot, SIGKILL, KillReason::kStopping);
  }
  ending_ranks_ = true;
  if (phase_ == Phase::kStopping) return;
  phase_ = Phase::kStopping;
  stop_cause_ = StopCause::kOrphaned;
  exit_code_ = HasSucceeded() ? kExitOk : kExitOrphaned;
  exit_reason_ = reason;
}

// Should the stop be the last that the operator hears of this worker, the command must have ended
// when the operator relies on it (operator/core/failure/fence.cc: 30 s after the orphan deadline,
// by its own count of the silence).
absl::Duration WorkerMachine::BeforeFence(absl::Duration grace) const {
  constexpr absl::Duration kPastOrphanDeadline = absl::Seconds(15);
  if (!settings_) return grace;
  const absl::Duration silent = attached_ ? absl::ZeroDuration() : now_ - detached_at_;
  const absl::Duration left = std::max(settings_->orphan_deadline - silent, absl::ZeroDuration());
  return std::min(grace, left + kPastOrphanDeadline);
}

bool WorkerMachine::StopIsDone() const {
  if (now_ >= stop_deadline_) return true;
  if (stop_cause_ == StopCause::kSignal) return !waits_for_save_;
  return std::all_of(slots_.begin(), slots_.end(),
                     [](const RankSlot& s) { return !s.alive || s.finished; });
}

void WorkerMachine::EndRanks(absl::Duration grace) {
  ending_ranks_ = true;
  for (RankSlot& slot : slots_) EndGracefully(slot, KillReason::kStopping, grace);
}

void WorkerMachine::AdvanceStop() {
  if (AnyAlive()) {
    if (!ending_ranks_ && StopIsDone()) EndRanks(config_.term_grace);
    return;
  }
  const bool clean =
      round_.round() == 0 || std::all_of(slots_.begin(), slots_.end(), [](const RankSlot& s) {
        return s.generation == 0 || (s.finished && s.succeeded);
      });
  if (stop_cause_ == StopCause::kOrder && clean) exit_code_ = 0;
  if (stop_cause_ != StopCause::kSignal && !finished_.has_value()) {
    FinishWorker(clean, exit_code_, exit_reason_);
  }
  phase_ = Phase::kEnded;
  if (job_has_ended_ && WantsCopiesOnDisk(round_spec_)) Do(RemoveFromDisk{});
  Do(ExitAgent{exit_code_, exit_reason_});
}

}  // namespace muster::agent
