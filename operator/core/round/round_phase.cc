#include "operator/core/round/round_phase.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/core/resume/held_slices.h"
#include "operator/core/round/resize.h"
#include "operator/core/round/resumed.h"
#include "operator/core/round/swap.h"

namespace muster::control {

void MoveRound(Draft& draft, RoundEvent event) {
  RoundMemory& memory = draft.memory();
  const auto next = Transition(memory.phase, event);
  // Callers check the phase first; an illegal event leaves the state as it is.
  if (!next.ok()) return;
  memory.phase = *next;
  memory.phase_since = draft.view.now;
}

void NoteHolders(Draft& draft) {
  RoundMemory& memory = draft.memory();
  const int shards = ShardsOfRound(draft);
  memory.holders.clear();
  for (const v1alpha1::Member& member : memory.members) {
    memory.holders[{member.worker().index(), member.worker().incarnation()}] =
        SlicesOf(member, shards);
  }
}

void BecomeActive(Draft& draft, RoundEvent event, Reason reason) {
  MoveRound(draft, event);
  RoundMemory& memory = draft.memory();
  memory.was_active = true;
  memory.active_round = memory.id.round;
  NoteSwapped(draft);
  NoteRoundBegan(draft);
  NoteResumed(draft);
  NoteHolders(draft);
  memory.ready.clear();
  memory.stop.sent_session.clear();
  memory.question.asked.clear();
  for (auto& [index, worker] : memory.workers) worker.shrunk = worker.named = false;
  const auto& latest = draft.view.progress.latest;
  memory.active_from_step = latest ? latest->version().step() : -1;
  std::string sentence = absl::StrCat("round ", memory.id.round, " of term ", memory.id.term,
                                      " is active with ", memory.members.size(), " workers");
  if (memory.go) absl::StrAppend(&sentence, "; ", memory.go->resume().reason());
  draft.EmitNormal(reason, std::move(sentence));
}

}  // namespace muster::control
