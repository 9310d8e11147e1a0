#include "trainer/engine/trainer.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/hash.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "proto/muster/v1alpha1/phase_times.h"
#include "trainer/comm/communicator.h"
#include "trainer/commit/decide_step.h"
#include "trainer/commit/tunings.h"
#include "trainer/engine/link/round_errors.h"
#include "trainer/engine/link/torch_errors.h"
#include "trainer/engine/step/device_memory.h"

namespace muster::trainer {
namespace {

using v1alpha1::FromTrainer;

void LogMemory(const TrainingState& state) {
  const DeviceMemory memory = ReadDeviceMemory(state);
  if (!memory.allocator.has_value()) return;
  MUSTER_LOG(INFO, "memory of the GPU", {"weights_bytes", memory.weights},
             {"gradients_bytes", memory.gradients}, {"optimizer_bytes", memory.optimizer},
             {"most_bytes", memory.allocator->most}, {"unused_bytes", memory.allocator->unused},
             {"retries", memory.allocator->retries});
}

}  // namespace

Trainer::Trainer(const TrainerSettings& settings, const Parts& parts)
    : settings_(settings),
      parts_(parts),
      engine_(parts.state, parts.feed, parts.timer, parts.inbox.interrupt()),
      reporter_(parts.outbox, parts.clock),
      checkpoints_(parts.checkpoints, parts.copies, parts.state, parts.outbox, parts.timer,
                   parts.clock) {}

Trainer::~Trainer() { LeaveRound(); }

bool Trainer::RunOnce() {
  while (auto message = parts_.inbox.TryTake()) {
    Obey(*message);
    if (exit_code_ != 0) return false;
  }
  if (state_ == State::kJoined) return AwaitStart();
  if (state_ == State::kStepping && !parts_.inbox.interrupt()) {
    StepOnce();
    return exit_code_ == 0;
  }
  const auto message = parts_.inbox.Take();
  if (!message) return false;
  Obey(*message);
  return exit_code_ == 0;
}

void Trainer::Obey(const v1alpha1::ToTrainer& message) {
  switch (message.kind_case()) {
    case v1alpha1::ToTrainer::kPrepare:
      return OnPrepare(message.prepare());
    case v1alpha1::ToTrainer::kGo:
      return OnGo(message.go());
    case v1alpha1::ToTrainer::kStop:
      return OnStop(message.stop());
    case v1alpha1::ToTrainer::kSave:
      return OnSave();
    case v1alpha1::ToTrainer::kTune:
      return OnTune(message.tune());
    case v1alpha1::ToTrainer::kReplica:  // the inbox has it
    case v1alpha1::ToTrainer::kConfigure:
    case v1alpha1::ToTrainer::KIND_NOT_SET:
      return;
  }
}

void Trainer::LeaveRound() {
  if (mesh_ == nullptr) return;
  mesh_->Abort("this rank left the round");
  engine_.EndRound();
  mesh_.reset();
  reporter_.Flush(true);
  checkpoints_.EndRound();
}

void Trainer::OnPrepare(const v1alpha1::TrainerPrepare& prepare) {
  if (absl::Status status = parts_.state.commit().Prepare(prepare.round()); !status.ok()) {
    MUSTER_LOG(WARN, "order ignored", {"error", status});
    return;
  }
  LeaveRound();
  if (round_.round() > 0) parts_.timer.Switch(Phase::kRecovery);
  // The first report after joining covers the time before it if this rank reported before. The time
  // of other ranks was never reported, and is not the run's wall time either.
  if (round_.round() > 0 && !IsFirst()) reported_ = parts_.timer.Totals();
  state_ = State::kHolding;
  round_ = prepare.round();
  rank_ = prepare.rank();
  world_size_ = prepare.world_size();
  adopted_ = Adopt(prepare);
  parts_.network.SetSecret(prepare.secret());
  parts_.progress.SetRound(round_);
  MUSTER_LOG(INFO, "prepared", {"round", round_.round()}, {"rank", rank_},
             {"world_size", world_size_});
  FromTrainer message;
  *message.mutable_ready()->mutable_round() = round_;
  v1alpha1::RankReady& ready = *message.mutable_ready()->mutable_ready();
  ready.set_local_rank(settings_.local_rank);
  ready.set_tests_links(true);
  ready.set_reads_replicas(true);
  *ready.mutable_position() = parts_.state.Position();
  checkpoints_.AddTo(*ready.mutable_position());
  if (parts_.replicas != nullptr) {
    const auto& folders = prepare.replica_directories();
    parts_.replicas->SetFolders({folders.begin(), folders.end()});
    parts_.replicas->AddTo(*ready.mutable_position());
  }
  if (rank_ == 0) {
    if (auto endpoint = parts_.network.Serve(); endpoint.ok()) {
      ready.set_endpoint(*endpoint);
    } else {
      MUSTER_LOG(ERROR, "could not serve the round's store", {"error", endpoint.status()});
    }
  }
  parts_.outbox.Send(message);
}

// Makes this rank train by the round's spec. An order without a spec leaves the old one in force.
absl::Status Trainer::Adopt(const v1alpha1::TrainerPrepare& prepare) {
  if (!prepare.has_spec() || parts_.read_spec == nullptr) return absl::OkStatus();
  MUSTER_ASSIGN_OR_RETURN(RunConfig config, parts_.read_spec(prepare.spec()));
  config.training.trajectory = Hash64(prepare.trajectory());
  MUSTER_RETURN_IF_ERROR(parts_.state.Configure(config.training));
  settings_ = config.settings;
  parts_.network.SetDeadline(config.step_deadline);
  checkpoints_.SetKeep(config.keep);
  trajectory_ = prepare.trajectory();
  return absl::OkStatus();
}

void Trainer::OnSave() {
  // A rank that waits to step, and that is to leave, saves with the others only what is new.
  if (state_ == State::kJoined && has_news_) BeginSteps();
  if (state_ == State::kJoined) {
    Stall(absl::AbortedError("a save was ordered before the first step, and nothing is new"));
  }
  if (state_ == State::kStepping) save_ordered_ = true;
}

void Trainer::OnTune(const v1alpha1::TuneRun& tune) {
  settings_.tunings.clear();
  for (const v1alpha1::Tuning& tuning : tune.tunings()) {
    settings_.tunings.push_back(FromProto(tuning));
  }
}

void Trainer::OnStop(const v1alpha1::TrainerStop& stop) {
  // Saving takes all ranks, so if the round's state may be on no disk, this rank takes part in a
  // step with them. Otherwise there is nothing to save, and it leaves before the first step.
  if (state_ == State::kJoined && has_news_) BeginSteps();
  if (state_ == State::kJoined) {
    LeaveRound();
    state_ = State::kHolding;
  }
  if (state_ == State::kStepping) {
    stop_ordered_ = true;
    save_ordered_ |= stop.save();
    return;
  }
  if (state_ == State::kFinished) return;
  if (is_undecided_) {
    MUSTER_LOG(WARN, "nothing is saved: the ranks differ, and nothing tells which is right");
  }
  StopAfterRound(stop.save() && !is_undecided_);
}

absl::Status Trainer::SaveAfterRound(const std::atomic<bool>& interrupt) {
  return CatchTorch("saving", [&] {
    return checkpoints_.SaveAfterRound(round_, settings_.shards_saved_within, interrupt);
  });
}

// Other ranks may be lost: those that are left save what they hold, each by itself.
void Trainer::StopAfterRound(bool save) {
  save_ordered_ = stop_ordered_ = false;
  constexpr char kStopped[] = "stopped between rounds";
  if (!save) return Finish(true, kStopped);
  const absl::Status saved = SaveAfterRound(parts_.inbox.interrupt());
  if (saved.ok()) return Finish(true, kStopped);
  if (parts_.inbox.interrupt()) return;  // a newer round goes on from the state
  Finish(false, absl::StrCat(kStopped, "; step ", parts_.state.applied()->step(),
                             " is not saved: ", saved.message()));
}

void Trainer::StepOnce() {
  const TrainingState& state = parts_.state;
  if (state.applied()->step() >= settings_.steps) {
    if (absl::Status status = EndRun("", /*ordered=*/false); !status.ok()) Stall(status);
    return;
  }
  parts_.progress.SetStep(state.applied()->step() + 1);
  RankCopies& copies = checkpoints_.copies();
  copies.BeforeStep(settings_, checkpoints_.IsWriting(), parts_.inbox.replica());
  const auto outcome = engine_.Step(
      {.save = save_ordered_,
       .stop = stop_ordered_,
       .save_due = IsFirst() && checkpoints_.IntervalIsOver(settings_),
       // A tuning that the ranks agree on in this vote is for the next step.
       .tuning = NextTuning(settings_.tunings, state.counts().tunings.size(),
                            state.applied()->step() + 2),
       .is_writing = [this] { return checkpoints_.IsWriting(); },
       .asks_for_copy = [&] { return copies.Asks(settings_, parts_.inbox.replica()); }});
  if (!outcome.ok()) return Stall(outcome.status());
  const v1alpha1::StepDecision& decision = outcome->decision;
  if (!outcome->after.ok()) {
    Report(ReportOf(*outcome));
    if (decision.too_many_skipped()) return GiveUp(WhyTooManySkipped(decision, state.rules()));
    return Stall(outcome->after);
  }
  const auto loss = AfterStep(*outcome);
  v1alpha1::StepReport report = ReportOf(*outcome);
  if (loss.ok() && loss->has_value()) {
    report.set_validation_loss(**loss);
    report.set_unigram_entropy(parts_.validation.unigram_entropy);
  }
  Report(std::move(report));
  if (!loss.ok()) return Stall(loss.status());
  if (decision.too_many_skipped()) return GiveUp(WhyTooManySkipped(decision, state.rules()));
  if (EndsBySpike(decision, state.rules())) return EndAtSpike(decision);
  if (const absl::Status equal = CompareIfDue(); !equal.ok()) return Stall(equal);
  if (!decision.stop_after()) return;
  // Some rank has the order; all obey it, although others may be lost on the way.
  stop_ordered_ = true;
  save_ordered_ = decision.save_after();
  const absl::Status status = EndRun("stopped", save_ordered_);
  if (!status.ok()) return Stall(status);
  save_ordered_ = stop_ordered_ = false;
}

// Saves after the step that was applied, unless the ranks hold that back; EndRun() makes the save
// of the end.
void Trainer::SaveIfDue(const StepOutcome& outcome) {
  const int64_t step = outcome.decision.version().step();
  const bool by_steps = RankCheckpoints::IsDue(settings_, step);
  const SaveChoice choice = DecideSave({.due = by_steps || outcome.save_due,
                                        .ordered = outcome.decision.save_after(),
                                        .last = step >= settings_.steps,
                                        .stops = outcome.decision.stop_after(),
                                        .writing = outcome.writing});
  switch (choice) {
    case SaveChoice::kNone:
    case SaveChoice::kAtEnd:
      return;
    case SaveChoice::kNow:
      save_ordered_ = false;
      return checkpoints_.Save(Writer());
    case SaveChoice::kHeldBack:
      // An order stands, and so does an interval by time that is over.
      return checkpoints_.HoldBack(Writer(), /*postponed=*/!by_steps);
  }
}

// Saves, copies and validates if it is time, and returns the validation's loss if it was.
absl::StatusOr<std::optional<double>> Trainer::AfterStep(const StepOutcome& outcome) {
  const int64_t step = outcome.decision.version().step();
  SaveIfDue(outcome);
  checkpoints_.copies().CopyIfDue(settings_, round_, outcome.copy);
  const int batches = std::min(settings_.validate_batches, parts_.validation.batches);
  if (settings_.validate_every <= 0 || batches <= 0 ||
      (step % settings_.validate_every != 0 && step != settings_.steps)) {
    return std::nullopt;
  }
  MUSTER_ASSIGN_OR_RETURN(const double loss, engine_.Validate(batches));
  return loss;
}

// A step that is applied is reported, whatever breaks after it.
void Trainer::Report(v1alpha1::StepReport report) {
  if (parts_.events != nullptr) parts_.events->Add(report);
  if (!IsFirst()) return;
  reporter_.Applied(std::move(report));
  if (world_size_ == 1) reporter_.Commit();
  reporter_.Flush(false);
}

v1alpha1::StepReport Trainer::ReportOf(const v1alpha1::StepDecision& decision) {
  v1alpha1::StepReport report;
  *report.mutable_version() = decision.version();
  report.set_loss(decision.loss());
  report.set_gradient_norm(decision.gradient_norm());
  report.set_learning_rate(parts_.state.LearningRateOf(decision.version().step()));
  report.set_applied(decision.apply());
  report.set_tokens(decision.valid_tokens());
  report.set_skipped_total(decision.skipped_total());
  report.set_spikes_total(decision.spikes_total());
  report.set_spike(decision.spike());
  for (const Tuning& tuning : parts_.state.counts().tunings) {
    if (tuning.step > decision.version().step()) break;
    report.set_tunings(report.tunings() + 1);
    *report.mutable_tuning() = ToProto(tuning);
  }
  if (parts_.state.options().types.scales_loss()) report.set_loss_scale(decision.loss_scale());
  report.set_finished_at_us(absl::ToUnixMicros(parts_.clock.Wall()));
  const v1alpha1::PhaseTimes now = parts_.timer.Totals();
  *report.mutable_times() = Difference(now, reported_);
  reported_ = now;
  return report;
}

v1alpha1::StepReport Trainer::ReportOf(const StepOutcome& outcome) {
  v1alpha1::StepReport report = ReportOf(outcome.decision);
  report.set_learning_rate(outcome.learning_rate);
  report.set_mean_busy_seconds(outcome.busy.mean);
  report.set_longest_busy_seconds(outcome.busy.longest);
  report.set_slowest_rank(outcome.busy.slowest);
  if (outcome.device_memory.has_value()) *report.mutable_device_memory() = *outcome.device_memory;
  return report;
}

// Runs after the last step, or after a stop was voted. The barrier proves that all ranks applied
// that step; it precedes the saves, so that no rank waits in it for another one's slow storage.
// Each rank then saves and waits for its own share of the last checkpoint, but not for ranks that
// are lost meanwhile; only a stop that saves waits for the shares of all (SaveAtStop).
absl::Status Trainer::EndRun(const std::string& message, bool ordered) {
  const bool done = parts_.state.applied()->step() >= settings_.steps;
  MUSTER_RETURN_IF_ERROR(mesh_->world().Barrier()->Wait());
  reporter_.Commit();
  reporter_.Flush(true);
  LogMemory(parts_.state);
  if (ordered || done) {
    MUSTER_RETURN_IF_ERROR(checkpoints_.SaveAtEnd(Writer(), parts_.inbox.interrupt()));
  }
  if (ordered && !done) MUSTER_RETURN_IF_ERROR(SaveAtStop());
  MUSTER_RETURN_IF_ERROR(checkpoints_.WaitUntilWritten(parts_.inbox.interrupt()));
  if (ordered) MUSTER_RETURN_IF_ERROR(AwaitRoom());
  Finish(true, message);
  return absl::OkStatus();
}

// Saves again until it succeeds, so that a stop does not lose the steps that a full disk keeps from
// being saved. The agent bounds the wait: it ends this process at the deadline of the stop, or if
// the stop is repeated without a save. A rank that holds only a part of the state cannot save
// alone, because the other ranks have finished.
absl::Status Trainer::AwaitRoom() {
  if (!IsFirst() || parts_.checkpoints == nullptr || !parts_.state.place().whole()) {
    return absl::OkStatus();
  }
  while (!checkpoints_.Durable()) {
    MUSTER_RETURN_IF_ERROR(checkpoints_.WaitToTryAgain(parts_.inbox.interrupt()));
    checkpoints_.SaveAlone(round_);
  }
  return absl::OkStatus();
}

// Waits until the checkpoint of a stop is complete, because no later round would save its state.
// The first rank waits for the others' shares, and the others for the first rank to complete the
// checkpoint, so that all of them notice a rank that is lost meanwhile.
absl::Status Trainer::SaveAtStop() {
  const auto written = [&] { return checkpoints_.WaitUntilWritten(parts_.inbox.interrupt()); };
  if (!IsFirst()) MUSTER_RETURN_IF_ERROR(written());
  MUSTER_RETURN_IF_ERROR(mesh_->world().Barrier()->Wait());
  if (IsFirst()) MUSTER_RETURN_IF_ERROR(written());
  return mesh_->world().Barrier()->Wait();
}

// The run ends without success, for a reason that every rank has seen in the vote. All ranks give
// up, so that any one that can still report does.
void Trainer::GiveUp(const std::string& why) {
  if (mesh_->world().Barrier()->Wait().ok()) reporter_.Commit();
  reporter_.Flush(true);
  exit_code_ = kExitDiverged;
  Finish(false, why);
}

// The weights are those from before the spike. They are saved, so that a job with other settings
// can go on from them.
void Trainer::EndAtSpike(const v1alpha1::StepDecision& decision) {
  std::string why =
      absl::StrCat("step ", decision.version().step(), " is a spike: ", decision.spike(),
                   "; trainer.watch.onSpike is Stop");
  const absl::Status saved = checkpoints_.SaveAtEnd(Writer(), parts_.inbox.interrupt());
  const absl::Status written = saved.ok() ? SaveAtStop() : saved;
  if (!written.ok()) absl::StrAppend(&why, "; it is not saved: ", written.message());
  GiveUp(why);
}

void Trainer::Finish(bool succeeded, const std::string& message) {
  state_ = State::kFinished;
  FromTrainer out;
  v1alpha1::TrainerFinished& finished = *out.mutable_finished();
  finished.set_succeeded(succeeded);
  finished.set_message(message);
  if (parts_.state.applied()) *finished.mutable_version() = *parts_.state.applied();
  if (const auto durable = checkpoints_.Durable()) *finished.mutable_durable() = *durable;
  *finished.mutable_times() = parts_.timer.Totals();
  parts_.outbox.Send(out);
}

// Returns true if the disk has failed more than once since the last applied step. Another round
// would not repair this rank's disk, so the rank ends, and the job's failure policy decides what
// follows.
bool Trainer::DiskFailsAgain() const { return parts_.state.rests().refusals() > 1; }

// Saves the applied step if `error` is bad input, such as a token outside of the vocabulary:
// training cannot continue, but the steps so far are good. No newer round interrupts the save,
// because this rank joins none. Returns what to append to the error message; empty if there is
// nothing to say.
std::string Trainer::SaveBeforeBadInput(const absl::Status& error) {
  const std::atomic<bool> never = false;
  const TrainingState& state = parts_.state;
  if (!absl::IsInvalidArgument(error) || !state.applied() || state.applied()->step() == 0)
    return "";
  const absl::Status saved =
      state.place().whole()
          ? SaveAfterRound(never)
          : absl::FailedPreconditionError("this rank holds a part of the state only");
  if (saved.ok()) return "";
  return absl::StrCat("; step ", state.applied()->step(), " is not saved: ", saved.message());
}

void Trainer::Stall(const absl::Status& error) {
  const std::string record = mesh_->world().DumpFlightRecord();
  state_ = State::kHolding;
  LeaveRound();
  parts_.timer.Switch(Phase::kRecovery);
  if (parts_.inbox.interrupt()) return;  // a Prepare or the agent's end did it
  MUSTER_LOG(WARN, "step broke off", {"round", round_.round()}, {"rank", rank_}, {"error", error},
             {"flight_record", record});
  if (DiskFailsAgain() || !IsErrorOfRound(error)) {
    exit_code_ = absl::IsInvalidArgument(error) ? kExitBadInput : kExitFailed;
    return Finish(false, absl::StrCat(error.message(), SaveBeforeBadInput(error)));
  }
  FromTrainer message;
  v1alpha1::RankStalled& stalled = *message.mutable_stalled();
  *stalled.mutable_round() = round_;
  stalled.set_local_rank(settings_.local_rank);
  if (parts_.state.applied()) *stalled.mutable_version() = *parts_.state.applied();
  stalled.set_error(std::string(error.message()));
  parts_.outbox.Send(message);
  if (stop_ordered_) StopAfterRound(save_ordered_);
}

}  // namespace muster::trainer
