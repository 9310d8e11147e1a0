#include "operator/core/round/resize.h"

#include "absl/time/time.h"
#include "operator/core/growth/grow.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {

void NoteRoundEnded(Draft& draft) { draft.memory().resize.ended = draft.view.now; }

void NoteRoundBegan(Draft& draft) {
  ResizeMemory& memory = draft.memory().resize;
  const int from = memory.workers;
  const int to = static_cast<int>(draft.memory().members.size());
  const auto ended = memory.ended;
  memory.workers = to;
  memory.ended.reset();
  if (from == 0 || from == to || !ended) return;
  v1alpha1::ResizeStatus& resize = *draft.status().mutable_resize();
  resize.set_round(draft.memory().id.round);
  resize.set_from(from);
  resize.set_to(to);
  resize.set_pause_seconds(absl::ToDoubleSeconds(draft.view.now - *ended));
  resize.set_time(FormatWall(draft.view.wall));
  resize.set_message(draft.memory().broken_sentence);
  if (GrowsByItself(draft.spec())) SnoozeGrowth(draft);
}

}  // namespace muster::control
