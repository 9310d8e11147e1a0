#include "trainer/engine/store/rank_checkpoints.h"

#include <algorithm>
#include <utility>

#include "ATen/ops/empty.h"
#include "ATen/ops/full.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"
#include "trainer/commit/version.h"

namespace muster::trainer {
namespace {

using v1alpha1::ResumePoint;

int64_t BytesIn(const TensorPart& part) { return static_cast<int64_t>(part.elements.nbytes()); }

constexpr absl::Duration kLookAgain = absl::Milliseconds(100);
// The pause between the saves of a stop that waits for room.
constexpr absl::Duration kTryAgain = absl::Seconds(2);

// Returns true if no write can succeed until someone changes the directory or its permissions.
bool IsForbidden(const absl::Status& written) {
  return absl::IsFailedPrecondition(written) || absl::IsPermissionDenied(written);
}

// A save that takes this long is reported even if the storage reports no trouble, as with a network
// file system whose server is gone.
constexpr absl::Duration kLongSave = absl::Minutes(5);

// Storage that recovers within this time is not reported to the job's owner.
constexpr absl::Duration kShortTrouble = absl::Seconds(10);

bool IsInTrouble(const SaveUnderway& save) {
  return save.lasts >= kLongSave || (save.trouble && save.trouble->lasts >= kShortTrouble);
}

std::string SecondsText(absl::Duration time) {
  return absl::FormatDuration(absl::Trunc(time, absl::Seconds(1)));
}

// Explains why a save does not begin: the checkpoint of step `earlier` is still being written, by
// this rank if `underway` is set.
std::string WhyHeldBack(int64_t earlier, const std::optional<SaveUnderway>& underway) {
  const std::string which = earlier < 0 ? "a checkpoint of an earlier round"
                                        : absl::StrCat("the checkpoint of step ", earlier);
  if (!underway) return absl::StrCat(which, " is still being written by other ranks");
  std::string why =
      absl::StrCat(which, " is still being written, for ", SecondsText(underway->lasts));
  if (underway->trouble) {
    absl::StrAppend(&why, "; the storage has been failing for ",
                    SecondsText(underway->trouble->lasts), ": ", underway->trouble->error);
  }
  return why;
}

}  // namespace

RankCheckpoints::RankCheckpoints(Checkpoints* directory, StateCopies* copies, TrainingState& state,
                                 Outbox& outbox, PhaseTimer& timer, const Clock& clock)
    : directory_(directory),
      copies_(copies, state, timer, clock),
      state_(state),
      outbox_(outbox),
      timer_(timer),
      clock_(clock),
      saved_at_(clock.Monotonic()) {
  if (directory_ != nullptr || copies != nullptr) state_.OnChange([this] { FinishCopy(); });
}

RankCheckpoints::~RankCheckpoints() {
  FinishCopy();
  state_.OnChange(nullptr);
}

void RankCheckpoints::FinishCopy() {
  const PhaseScope checkpoint(timer_, Phase::kCheckpoint);
  if (directory_ != nullptr) directory_->FinishCopy();
  copies_.FinishCopy();
}

void RankCheckpoints::SetKeep(int keep) {
  if (directory_ != nullptr) directory_->SetKeep(keep);
}

void RankCheckpoints::AddTo(v1alpha1::RankPosition& position) {
  copies_.AddTo(position);
  if (directory_ == nullptr) return;
  Checkpoints::Listing listing = directory_->List(state_);
  for (auto& checkpoint : listing.complete) *position.add_checkpoints() = std::move(checkpoint);
  position.set_listing_error(listing.error);
}

absl::Status RankCheckpoints::Claim(const ResumePoint& resume) {
  if (directory_ == nullptr || resume.source() != ResumePoint::FRESH) return absl::OkStatus();
  const absl::Status claimed = directory_->Claim();
  if (!IsForbidden(claimed) && !absl::IsAlreadyExists(claimed)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("checkpoint.uri: ", claimed.message()));
}

absl::Status RankCheckpoints::CheckWritable(const ResumePoint& resume, int local_rank) {
  if (directory_ == nullptr) return absl::OkStatus();
  if (local_rank != 0) return absl::OkStatus();  // one answer per machine
  const absl::Status writable = directory_->CheckWritable();
  if (!IsForbidden(writable)) return absl::OkStatus();  // a full disk, say: a save tries again
  if (resume.source() == ResumePoint::LIVE || resume.source() == ResumePoint::MEMORY) {
    MUSTER_LOG(ERROR, "the checkpoint directory cannot be written; training goes on",
               {"error", writable});
    ReportFailed(resume.version(), resume.history(), std::string(writable.message()));
    return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat("checkpoint.uri cannot be written: ", writable.message(),
                   "; the job goes on when it can be"));
}

// Reports as a save that failed does.
void RankCheckpoints::ReportFailed(const v1alpha1::Version& version, const std::string& history,
                                   const std::string& why) {
  v1alpha1::FromTrainer message;
  v1alpha1::CheckpointReport& report = *message.mutable_checkpoint();
  report.set_phase(v1alpha1::CheckpointReport::FAILED);
  *report.mutable_version() = version;
  report.set_history(history);
  report.set_error(why);
  outbox_.Send(message);
}

absl::Status RankCheckpoints::CheckShared(const v1alpha1::RoundId& round, const ResumePoint& resume,
                                          Communicator& communicator, absl::Duration patience,
                                          const std::atomic<bool>& interrupt) {
  if (resume.source() != ResumePoint::FRESH || communicator.size() == 1) return absl::OkStatus();
  // A mark that could not be written, as on a full disk, proves nothing about the others.
  const bool first = communicator.rank() == 0;
  const bool marks = first && directory_ != nullptr && directory_->WriteMark(round).ok();
  const at::Tensor mine = at::full({1}, marks ? 1 : 0, at::kLong);
  at::Tensor all = at::empty({communicator.size()}, at::kLong);
  MUSTER_RETURN_IF_ERROR(communicator.AllGather(all, mine, "marks")->Wait());
  if (first || directory_ == nullptr || all.const_data_ptr<int64_t>()[0] == 0) {
    return absl::OkStatus();
  }
  const absl::Status seen = AwaitMark(round, patience, interrupt);
  if (!absl::IsNotFound(seen)) return seen;
  return absl::InvalidArgumentError(
      absl::StrCat("checkpoint.uri: rank ", communicator.rank(),
                   " does not see what rank 0 has written there: it must be one directory for all "
                   "workers, as of a ReadWriteMany volume (",
                   seen.message(), ")"));
}

absl::Status RankCheckpoints::AwaitMark(const v1alpha1::RoundId& round, absl::Duration patience,
                                        const std::atomic<bool>& interrupt) {
  const absl::Time deadline = clock_.Monotonic() + patience;
  while (true) {
    const absl::Status found = directory_->FindMark(round);
    if (found.ok()) return found;
    if (!absl::IsNotFound(found)) return absl::OkStatus();  // not known: a save tries again
    if (clock_.Monotonic() >= deadline) return found;
    if (interrupt) return absl::AbortedError("interrupted in looking for the round's mark");
    absl::SleepFor(std::min(patience, kLookAgain));
  }
}

absl::Status RankCheckpoints::Load(const RestorePlan& plan, std::string& bad_checkpoint) {
  if (directory_ == nullptr) {
    return absl::FailedPreconditionError("no checkpoint directory is configured");
  }
  const auto version = directory_->Load(plan.checkpoint, state_);
  if (version.ok() && Same(*version, plan.version)) {
    saved_step_ = version->step();
    loaded_bytes_ = 0;
    for (const auto& parts : {state_.ValueParts(), state_.OptimizerParts()}) {
      for (const TensorPart& part : parts) loaded_bytes_ += BytesIn(part);
    }
    return absl::OkStatus();
  }
  // Only a damaged checkpoint is passed over from now on. After any other error it may still be
  // good, and the next round tries it again.
  if (absl::IsDataLoss(version.status())) bad_checkpoint = plan.checkpoint.directory();
  return absl::Status(
      version.ok() ? absl::StatusCode::kAborted : version.status().code(),
      absl::StrCat(plan.checkpoint.directory(), ": ",
                   version.ok() ? "holds another version than the round resumes from"
                                : version.status().message()));
}

absl::Status RankCheckpoints::LoadCopy(const RestorePlan& plan) {
  MUSTER_ASSIGN_OR_RETURN(loaded_bytes_, copies_.Load(plan.version));
  return absl::OkStatus();
}

Proof RankCheckpoints::Prove() {
  if (directory_ == nullptr || !state_.applied()) return Proof::kNone;
  for (const v1alpha1::CheckpointRef& checkpoint : directory_->List(state_).complete) {
    if (!Same(checkpoint.version(), *state_.applied()) || !checkpoint.mismatch().empty() ||
        checkpoint.history() != state_.commit().history()) {
      continue;
    }
    const absl::StatusOr<bool> holds = directory_->Holds(checkpoint, state_);
    if (holds.ok()) return *holds ? Proof::kRight : Proof::kWrong;
    MUSTER_LOG(WARN, "the checkpoint of this step proves nothing", {"error", holds.status()});
  }
  return Proof::kNone;
}

void RankCheckpoints::SetAside(const v1alpha1::RoundId& round) {
  if (directory_ == nullptr) return;
  if (absl::Status status = directory_->SetAside(state_, round); !status.ok()) {
    MUSTER_LOG(WARN, "could not set aside the checkpoints of runs that were given up",
               {"error", status});
  }
}

void RankCheckpoints::Expect(const CheckpointWriterId& writer) {
  if (directory_ != nullptr) directory_->Expect(state_, writer);
}

bool RankCheckpoints::IntervalIsOver(const TrainerSettings& settings) const {
  return settings.save_every > absl::ZeroDuration() &&
         clock_.Monotonic() - saved_at_ >= settings.save_every;
}

bool RankCheckpoints::IsDue(const TrainerSettings& settings, int64_t step) {
  return settings.save_every_steps > 0 && step % settings.save_every_steps == 0;
}

bool RankCheckpoints::IsWriting() const {
  return directory_ != nullptr && !directory_->WaitIdle(absl::ZeroDuration());
}

void RankCheckpoints::HoldBack(const CheckpointWriterId& writer, bool postponed) {
  if (directory_ == nullptr) return;
  const std::optional<SaveUnderway> underway = directory_->Underway();
  if (writer.rank != 0 && !underway) return;
  // The ranks save the same steps, so that of the others is the one that this rank saved last.
  const int64_t earlier = underway ? underway->step : saved_step_;
  if (!in_the_way_ || in_the_way_->step != earlier) in_the_way_ = {.step = earlier};
  const std::string why = WhyHeldBack(earlier, underway);
  if (!postponed || !in_the_way_->told) {
    MUSTER_LOG(WARN,
               postponed ? "a checkpoint is postponed; training goes on"
                         : "a checkpoint is skipped; training goes on",
               {"step", state_.applied()->step()}, {"why", why});
  }
  in_the_way_->told = true;
  if (writer.rank != 0 || !underway || in_the_way_->reported || !IsInTrouble(*underway)) return;
  in_the_way_->reported = true;
  ReportFailed(*state_.applied(), state_.commit().history(), why);
}

absl::Status RankCheckpoints::SaveAtEnd(const CheckpointWriterId& writer,
                                        const std::atomic<bool>& interrupt) {
  if (HasSaved()) return absl::OkStatus();
  MUSTER_RETURN_IF_ERROR(WaitUntilWritten(interrupt));
  Save(writer);
  return absl::OkStatus();
}

void RankCheckpoints::Save(const CheckpointWriterId& writer) {
  if (directory_ == nullptr) return;
  const PhaseScope checkpoint(timer_, Phase::kCheckpoint);
  saved_at_ = clock_.Monotonic();
  const absl::Status status = directory_->Save(state_, writer);
  if (!status.ok()) {
    MUSTER_LOG(ERROR, "could not save a checkpoint; training goes on", {"error", status});
    return;
  }
  saved_step_ = state_.applied()->step();
}

absl::Status RankCheckpoints::SaveAfterRound(const v1alpha1::RoundId& round,
                                             absl::Duration patience,
                                             const std::atomic<bool>& interrupt) {
  if (directory_ == nullptr || !state_.applied() || Durable()) return absl::OkStatus();
  MUSTER_RETURN_IF_ERROR(WaitUntilWritten(interrupt));
  if (directory_->IsComplete(state_, round)) return absl::OkStatus();
  MUSTER_ASSIGN_OR_RETURN(const bool takes, directory_->TakeShard(state_, round));
  const CopyPlace place = state_.place();
  if (takes) {
    MUSTER_RETURN_IF_ERROR(directory_->Save(
        state_,
        {.round = round, .rank = place.index(), .world_size = place.count(), .after_round = true}));
    MUSTER_RETURN_IF_ERROR(WaitUntilWritten(interrupt));
    if (place.whole()) {
      return directory_->IsComplete(state_, round)
                 ? absl::OkStatus()
                 : absl::UnavailableError("the checkpoint could not be written");
    }
  }
  const PhaseScope checkpoint(timer_, Phase::kCheckpoint);
  const absl::Time deadline = clock_.Monotonic() + patience;
  while (!directory_->IsComplete(state_, round)) {
    if (interrupt) return absl::AbortedError("interrupted in the last checkpoint");
    if (clock_.Monotonic() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("the ranks that are left have not completed a checkpoint of it within ",
                       SecondsText(patience),
                       place.whole() ? "" : ": perhaps none of them holds some part of the state"));
    }
    absl::SleepFor(std::min(patience, kLookAgain));
  }
  return absl::OkStatus();
}

void RankCheckpoints::SaveAlone(const v1alpha1::RoundId& round) {
  if (directory_ == nullptr) return;
  directory_->WaitIdle(absl::InfiniteDuration());
  Save({.round = round});
  directory_->WaitIdle(absl::InfiniteDuration());
}

absl::Status RankCheckpoints::WaitToTryAgain(const std::atomic<bool>& interrupt) {
  const PhaseScope checkpoint(timer_, Phase::kCheckpoint);
  const absl::Time end = clock_.Monotonic() + kTryAgain;
  while (clock_.Monotonic() < end) {
    if (interrupt) return absl::AbortedError("interrupted between two saves");
    absl::SleepFor(kLookAgain);
  }
  return absl::OkStatus();
}

bool RankCheckpoints::HasSaved() const {
  return state_.applied() && saved_step_ == state_.applied()->step();
}

absl::Status RankCheckpoints::WaitUntilWritten(const std::atomic<bool>& interrupt) {
  if (directory_ == nullptr) return absl::OkStatus();
  const PhaseScope checkpoint(timer_, Phase::kCheckpoint);
  while (!directory_->WaitIdle(absl::Milliseconds(20))) {
    if (interrupt) return absl::AbortedError("interrupted in the last checkpoint");
  }
  return absl::OkStatus();
}

std::optional<v1alpha1::Version> RankCheckpoints::Durable() const {
  if (directory_ == nullptr || !state_.applied()) return std::nullopt;
  const auto durable = directory_->Durable();
  return durable && Same(*durable, *state_.applied()) ? durable : std::nullopt;
}

// Gives up a checkpoint that is being written: shares of lost ranks will not arrive, so it may stay
// incomplete even if this rank's share is written. saved_step_ is reset, so that all ranks save the
// next round's last version anew.
void RankCheckpoints::EndRound() {
  // The next round may write to the state.
  FinishCopy();
  if (IsWriting()) directory_->Abandon();
  saved_step_ = -1;
}

}  // namespace muster::trainer
