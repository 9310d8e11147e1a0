#include "operator/core/ending/unsaved.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "operator/core/ending/finish.h"
#include "operator/core/resume/floor.h"
#include "operator/core/state/progress.h"

namespace muster::control {
namespace {

// A worker that is there and has not finished the round.
bool MayStillSave(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  return std::any_of(
      memory.members.begin(), memory.members.end(), [&](const v1alpha1::Member& member) {
        const Worker* worker = WorkerOf(draft, member);
        if (worker == nullptr || IsLost(worker->presence) || worker->agent == nullptr) return false;
        return !worker->agent->finished || worker->agent->finished->round != memory.id;
      });
}

// Returns true if all steps are trained and the last one is to be saved again, now or after a
// pause.
bool LastStepWaits(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  const bool broken = memory.phase != RoundPhase::kActive;
  return IsUnsaved(draft) || (broken && memory.broken_reason == Reason::kLastStepNotSaved);
}

bool AnyMemberIsThere(const Draft& draft) {
  const auto& members = draft.plan.memory.members;
  return std::any_of(members.begin(), members.end(), [&](const v1alpha1::Member& member) {
    const Worker* worker = WorkerOf(draft, member);
    return worker != nullptr && !IsLost(worker->presence);
  });
}

}  // namespace

std::optional<std::string> DescribeUnsaved(const Draft& draft) {
  if (!SavesState(draft.spec())) return std::nullopt;
  const int64_t saved = std::max<int64_t>(NewestCheckpoint(draft), 0);
  const auto& latest = draft.view.progress.latest;
  const int64_t trained =
      std::max(draft.plan.status.progress().step(), latest ? latest->version().step() : int64_t{0});
  if (trained <= saved) return std::nullopt;
  const auto& failed = draft.view.checkpoint.failed;
  const std::string steps =
      trained == saved + 1 ? absl::StrCat("step ", trained, " is not saved")
                           : absl::StrCat("steps ", saved + 1, " to ", trained, " are not saved");
  return absl::StrCat(steps, failed ? absl::StrCat(": ", failed->error()) : "");
}

bool WaitsForRoom(const Draft& draft) {
  if (!SavesState(draft.spec())) return false;
  const auto& failed = draft.view.checkpoint.failed;
  if (failed && failed->version().step() > NewestCheckpoint(draft) && MayStillSave(draft)) {
    return true;
  }
  return LastStepWaits(draft) && AnyMemberIsThere(draft);
}

}  // namespace muster::control
