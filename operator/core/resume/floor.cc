#include "operator/core/resume/floor.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/checkpoint/checkpoint_history.h"
#include "base/hash.h"

namespace muster::control {
namespace {

using v1alpha1::CheckpointStatus;
using v1alpha1::ResumePoint;

constexpr std::array kHeld = {Reason::kCheckpointHidden, Reason::kCheckpointLost,
                              Reason::kCheckpointMismatch, Reason::kCheckpointUnlistable};

Reason ReasonOf(ResumeReason reason) {
  switch (reason) {
    case ResumeReason::kCheckpointHidden:
      return Reason::kCheckpointHidden;
    case ResumeReason::kCheckpointMismatch:
      return Reason::kCheckpointMismatch;
    case ResumeReason::kCheckpointUnlistable:
      return Reason::kCheckpointUnlistable;
    case ResumeReason::kCheckpointLost:
      return Reason::kCheckpointLost;
    case ResumeReason::kFresh:
    case ResumeReason::kLiveInStep:
    case ResumeReason::kLiveRelay:
    case ResumeReason::kLiveRedo:
    case ResumeReason::kLiveBehind:
    case ResumeReason::kMemory:
    case ResumeReason::kCheckpoint:
    case ResumeReason::kCheckpointOlder:
    case ResumeReason::kFreshGivenUp:
      break;  // these do not hold
  }
  return Reason::kCheckpointLost;
}

void MoveTo(Draft& draft, const v1alpha1::CheckpointRef& kept, int64_t attempt) {
  CheckpointStatus& status = *draft.status().mutable_checkpoint();
  const std::string history(HistoryName(kept.history()));
  const bool there = status.has_step() && status.step() == kept.version().step() &&
                     HistoryName(status.history()) == history;
  status.set_step(kept.version().step());
  status.set_uri(CheckpointPath(draft.spec(), kept.directory()));
  status.set_history(history);
  status.set_attempt(attempt);
  if (!there) status.set_time(FormatWall(draft.view.wall));
  draft.Condition(
      ConditionType::kCheckpointed, true, Reason::kCheckpointWritten,
      absl::StrCat("the newest checkpoint is ", status.uri(), " of step ", status.step()));
}

}  // namespace

bool SavesState(const v1alpha1::TrainingJobSpec& spec) {
  return spec.has_trainer() && spec.has_checkpoint();
}

std::string CheckpointPath(const v1alpha1::TrainingJobSpec& spec, const std::string& directory) {
  if (absl::StartsWith(directory, "/")) return directory;
  return absl::StrCat(absl::StripSuffix(spec.checkpoint().uri(), "/"), "/", directory);
}

std::string NewHistory(const std::string& job_uid, RoundStamp id) {
  return ToHex(Hash64(absl::StrCat(job_uid, "/", id.term, "/", id.round)));
}

ResumeOptions ResumeOptionsOf(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  const v1alpha1::TrainingJobSpec& spec = draft.spec();
  ResumeOptions options;
  options.bad_checkpoints = memory.failure.bad_checkpoints;
  options.min_attempt = memory.id.round;
  options.new_history = NewHistory(draft.view.job.uid, memory.id);
  if (!SavesState(spec)) return options;
  if (draft.plan.status.has_checkpoint()) {
    const CheckpointStatus& floor = draft.plan.status.checkpoint();
    options.floor = Floor{floor.step(), floor.history(), floor.attempt()};
    // The checkpoints of the floor's attempt may be gone, so that no rank reports them.
    options.min_attempt = std::max(options.min_attempt, floor.attempt() + 1);
  }
  options.hold_on_damage = spec.checkpoint().on_damage() == "Hold";
  options.give_up = spec.checkpoint().give_up();
  return options;
}

void RecordFloor(Draft& draft, const ResumeDecision& decision) {
  const ResumePoint& point = decision.point;
  if (!SavesState(draft.spec())) return;
  const bool from_ranks =
      point.source() == ResumePoint::LIVE || point.source() == ResumePoint::MEMORY;
  if (from_ranks && !decision.gives_up) return;
  if (decision.kept) {
    MoveTo(draft, *decision.kept, point.next_attempt());
  } else {
    CheckpointStatus& status = *draft.status().mutable_checkpoint();
    status.Clear();
    status.set_history(std::string(HistoryName(point.history())));
    status.set_attempt(point.next_attempt());
    draft.Condition(ConditionType::kCheckpointed, false, Reason::kNoCheckpointYet,
                    "no checkpoint has been written yet");
  }
  if (decision.gives_up) draft.EmitWarning(Reason::kCheckpointGivenUp, decision.sentence);
  if (decision.adopts) {
    draft.EmitNormal(Reason::kCheckpointAdopted,
                     absl::StrCat("going on from ", point.checkpoint().directory(),
                                  ", which an earlier job of this name has saved"));
  }
}

Break BreakOf(const ResumeDecision& held) {
  Break why;
  why.reason = ReasonOf(held.reason);
  why.sentence = held.sentence;
  why.asks = true;
  return why;
}

bool IsHeld(const RoundMemory& memory) {
  return memory.phase != RoundPhase::kActive && memory.broken_reason &&
         std::find(kHeld.begin(), kHeld.end(), *memory.broken_reason) != kHeld.end();
}

std::string OwnerDecision(const v1alpha1::TrainingJobSpec& spec) {
  return absl::StrCat(spec.checkpoint().on_damage(), " ", spec.checkpoint().give_up());
}

}  // namespace muster::control
