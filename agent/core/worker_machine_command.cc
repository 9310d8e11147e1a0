// The part of the worker machine that hears a job's own command and gives it notice. A command says
// nothing unless its script uses the client (agent/client), so nothing here is required of it.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "agent/core/worker_machine.h"
#include "proto/muster/v1alpha1/round_id.h"

namespace muster::agent {

using v1alpha1::AgentMessage;
using v1alpha1::FromTrainer;
using v1alpha1::ToTrainer;

namespace {

// A script may report every step, and steps may be fast. Of its checkpoints the newest counts.
constexpr absl::Duration kBetweenBatches = absl::Milliseconds(100);
// The operator takes some thousand steps a second of one worker; of more the newest count.
constexpr int kMostOfABatch = 200;

}  // namespace

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

}  // namespace muster::agent
