#include "operator/core/saves/save_request.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/order_save.h"

namespace muster::control {
namespace {

// The only trace of what another leader did about the request is a newer checkpoint.
bool WasDone(const Draft& draft) {
  const absl::Time asked = ParseWall(draft.view.job.save_request);
  const absl::Time saved = ParseWall(draft.view.status.checkpoint().time());
  return asked != absl::InfinitePast() && saved > asked;
}

std::string WhyImpossible(const Draft& draft) {
  return draft.spec().has_checkpoint() ? "" : "the job has no spec.checkpoint to save to";
}

}  // namespace

void SaveOnRequest(Draft& draft) {
  RoundMemory& memory = draft.memory();
  const std::string& asked = draft.view.job.save_request;
  if (!memory.save_request.has_value()) {
    memory.save_request = WasDone(draft) ? asked : "";
  }
  if (asked == *memory.save_request) return;
  if (asked.empty()) {
    memory.save_request = "";
    return;
  }
  const std::string cannot = WhyImpossible(draft);
  if (!cannot.empty()) {
    memory.save_request = asked;
    return draft.EmitWarning(Reason::kSaveRequested,
                             absl::StrCat("annotation ", kSaveRequest,
                                          " asks for a checkpoint, but none is saved: ", cannot));
  }
  // Nothing was ordered yet; the next decision tries again.
  if (memory.phase != RoundPhase::kActive || OrderSaves(draft) == 0) return;
  memory.save_request = asked;
  const char* const what =
      draft.spec().has_trainer()
          ? ": a checkpoint is saved after the current step"
          : ": the command is asked to save (should_checkpoint() of muster.py), if it listens";
  draft.EmitNormal(Reason::kSaveRequested,
                   absl::StrCat("annotation ", kSaveRequest, " is ", asked, what));
}

}  // namespace muster::control
