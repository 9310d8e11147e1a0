#include "trainer/engine/store/rank_copies.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/byte_text.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "trainer/commit/held_places.h"

namespace muster::trainer {
namespace {

using v1alpha1::ResumePoint;

// With replicas a copy is made only when the one before it is whole at other workers, which each
// rank knows of its own; and so is one whose time depends on measured times.
bool RanksAsk(const TrainerSettings& settings) {
  return settings.copy_every_steps == 0 || settings.keeps_replicas;
}

}  // namespace

RankCopies::RankCopies(StateCopies* copies, TrainingState& state, PhaseTimer& timer,
                       const Clock& clock)
    : copies_(copies), state_(state), timer_(timer), clock_(clock) {}

void RankCopies::FinishCopy() {
  if (copies_ != nullptr) copies_->FinishCopy();
}

void RankCopies::AddTo(v1alpha1::RankPosition& position) {
  if (copies_ == nullptr) return;
  for (auto& copy : copies_->List()) {
    if (!ToPlace(copy.slice()).IsOfPartOf(state_.place())) continue;
    *position.add_copies() = std::move(copy);
  }
}

absl::StatusOr<int64_t> RankCopies::Load(const v1alpha1::Version& version) {
  if (copies_ == nullptr) {
    return absl::FailedPreconditionError("this rank keeps no copies in memory");
  }
  return copies_->Load(version, state_);
}

absl::Status RankCopies::BeginRound(const TrainerSettings& settings, const ResumePoint& resume,
                                    const v1alpha1::RoundId& round) {
  fit_ = false;
  if (copies_ == nullptr) return absl::OkStatus();
  copies_->BeginRound(state_);
  pace_.BeginRound();
  copied_step_ = state_.applied()->step();
  if (!settings.copies) return absl::OkStatus();
  const int64_t room = StateCopies::RoomFor(state_);
  fit_ = room <= settings.copies_room;
  if (fit_) {
    copies_->Expect(state_);
    const int64_t step = state_.applied()->step();
    const bool due = RanksAsk(settings) ? MayCopy(settings, step) : IsCopied(settings, step);
    if (due && !copies_->Has(*state_.applied())) Copy(round);
    return absl::OkStatus();
  }
  const std::string why = absl::StrCat(
      "checkpoint.memory.size: each rank of a worker has ", ByteText(settings.copies_room),
      " of it", settings.keeps_replicas ? " and as much for replicas of another's copies" : "",
      ", and three copies of its part of the state take ", ByteText(room), ", ", room,
      " bytes: raise it, or leave checkpoint.memory",
      settings.keeps_replicas ? " or its replicas" : "", " out");
  if (resume.source() == ResumePoint::FRESH) return absl::InvalidArgumentError(why);
  MUSTER_LOG(ERROR, "the state is not copied in memory in this round", {"why", why});
  return absl::OkStatus();
}

bool RankCopies::MayCopy(const TrainerSettings& settings, int64_t step) const {
  // The last step is saved in the checkpoint directory.
  return fit_ && step > 0 && step < settings.steps;
}

bool RankCopies::IsCopied(const TrainerSettings& settings, int64_t step) const {
  return MayCopy(settings, step) && settings.copy_every_steps > 0 &&
         step % settings.copy_every_steps == 0;
}

void RankCopies::BeforeStep(const TrainerSettings& settings, bool saving, const Replica& replica) {
  const int64_t step = state_.applied()->step() + 1;
  if (!MayCopy(settings, step)) return;
  if (!RanksAsk(settings)) {
    if (!IsCopied(settings, step)) return;
    const PhaseScope checkpoint(timer_, Phase::kCheckpoint);
    return copies_->Await();
  }
  // A stream takes the network from the steps beside it: it is a part of what a copy costs.
  const bool copying = !copies_->idle() || IsReplicaAwaited(replica, copies_->newest());
  beside_ = saving    ? CopyPace::Beside::kSave
            : copying ? CopyPace::Beside::kCopy
                      : CopyPace::Beside::kNothing;
  pace_.SetSending(replica && replica->streams() ? absl::Seconds(replica->seconds())
                                                 : absl::ZeroDuration());
  step_began_ = clock_.Monotonic();
}

bool RankCopies::Asks(const TrainerSettings& settings, const Replica& replica) const {
  const int64_t step = state_.applied()->step() + 1;
  if (!RanksAsk(settings) || !MayCopy(settings, step)) return false;
  const bool idle = copies_->idle();
  return AsksForCopy({.step = step,
                      .copied_step = copied_step_,
                      .every_steps = settings.copy_every_steps,
                      .pace_is_due = pace_.IsDue(),
                      .idle = idle,
                      .replica_is_awaited = idle && IsReplicaAwaited(replica, copies_->newest())});
}

void RankCopies::CopyIfDue(const TrainerSettings& settings, const v1alpha1::RoundId& round,
                           bool asked) {
  const int64_t step = state_.applied()->step();
  if (!MayCopy(settings, step)) return;
  if (!RanksAsk(settings)) {
    if (IsCopied(settings, step)) Copy(round);
    return;
  }
  pace_.StepDone(clock_.Monotonic() - step_began_, beside_);
  if (!asked) return;
  const absl::Time begun = clock_.Monotonic();
  Copy(round);
  pace_.CopyBegun(clock_.Monotonic() - begun);
  if (settings.copy_every_steps == 0) LogInterval(settings);
}

// Tells when the interval has changed by half.
void RankCopies::LogInterval(const TrainerSettings& settings) {
  const int64_t interval = pace_.Interval();
  if (settings.local_rank != 0 ||
      (interval < 2 * logged_interval_ && 2 * interval > logged_interval_))
    return;
  logged_interval_ = interval;
  MUSTER_LOG(INFO, "the state is copied in memory", {"every_steps", interval});
}

void RankCopies::Copy(const v1alpha1::RoundId& round) {
  const PhaseScope checkpoint(timer_, Phase::kCheckpoint);
  copied_step_ = state_.applied()->step();
  const absl::Status status = copies_->Save(state_, round);
  if (!status.ok()) {
    MUSTER_LOG(ERROR, "could not copy the state in memory; training goes on", {"error", status});
  }
}

}  // namespace muster::trainer
