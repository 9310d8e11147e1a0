#include "operator/core/saves/checkpoint.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_history.h"
#include "operator/core/resume/floor.h"

namespace muster::control {
namespace {

// A save of a branch or history that was given up may be reported late or repeatedly, even to a
// leader whose only record of the branch is the status.
bool BelongsToRun(const Draft& draft, const v1alpha1::CheckpointReport& written) {
  const v1alpha1::CheckpointStatus& known = draft.plan.status.checkpoint();
  if (written.version().attempt() < known.attempt()) return false;
  if (!written.history().empty() && known.has_history() && written.history() != known.history()) {
    return false;
  }
  return written.version().step() >= known.step();
}

void ShowWritten(Draft& draft, const v1alpha1::CheckpointReport& written) {
  v1alpha1::CheckpointStatus& status = *draft.status().mutable_checkpoint();
  const std::string uri = CheckpointPath(draft.spec(), written.directory());
  const bool known =
      status.has_step() && status.step() == written.version().step() && status.uri() == uri;
  const std::string sentence =
      absl::StrCat("the newest checkpoint is ", uri, " of step ", written.version().step());
  if (!known) {
    status.set_step(written.version().step());
    status.set_attempt(written.version().attempt());
    status.set_uri(uri);
    status.set_time(FormatWall(draft.view.wall));
    if (!status.has_history()) status.set_history(std::string(HistoryName(written.history())));
    // An unusable checkpoint may have had the same name.
    draft.memory().failure.bad_checkpoints.erase(written.directory());
    draft.EmitNormal(Reason::kCheckpointWritten, sentence);
  }
  draft.Condition(ConditionType::kCheckpointed, true, Reason::kCheckpointWritten, sentence);
}

void ShowFailed(Draft& draft, const v1alpha1::CheckpointReport& failed) {
  std::string sentence = absl::StrCat("checkpoint of step ", failed.version().step(),
                                      " failed: ", failed.error(), "; training goes on");
  const v1alpha1::Condition* shown = FindCondition(draft.view.status, ConditionType::kCheckpointed);
  if (shown == nullptr || shown->message() != sentence) {
    draft.EmitWarning(Reason::kCheckpointFailed, sentence);
  }
  draft.Condition(ConditionType::kCheckpointed, false, Reason::kCheckpointFailed, sentence);
}

}  // namespace

void ReportCheckpoint(Draft& draft) {
  if (!draft.spec().has_checkpoint()) return;
  // While a job waits for its owner's decision, its condition is only about that.
  if (IsHeld(draft.plan.memory)) return;
  const CheckpointView& seen = draft.view.checkpoint;
  if (seen.written && BelongsToRun(draft, *seen.written)) ShowWritten(draft, *seen.written);
  if (seen.failed) ShowFailed(draft, *seen.failed);
  if (FindCondition(draft.status(), ConditionType::kCheckpointed) == nullptr) {
    draft.Condition(ConditionType::kCheckpointed, false, Reason::kNoCheckpointYet,
                    "no checkpoint has been written yet");
  }
}

}  // namespace muster::control
