#include "operator/core/round/round_phase.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "operator/core/growth/grow.h"
#include "operator/core/resume/held_slices.h"
#include "operator/core/state/index_ranges.h"
#include "operator/core/state/spec_values.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::control {
namespace {

using v1alpha1::ResumePoint;

// The length of status.resume.message.
constexpr size_t kMaxMessage = 1024;

// Records in status.swap the spares that have taken ranks over. Called before NoteRoundBegan(),
// which takes the end of the round before.
void NoteSwapped(Draft& draft) {
  const std::map<int, int> taken_over = std::move(draft.memory().swap.takes_over);
  draft.memory().swap.takes_over.clear();
  const auto& ended = draft.memory().resize.ended;
  if (taken_over.empty() || !ended) return;
  std::set<int> lost;
  std::set<int> spares;
  for (const auto& [spare, worker] : taken_over) {
    spares.insert(spare);
    lost.insert(worker);
  }
  v1alpha1::SwapStatus& swap = *draft.status().mutable_swap();
  swap.set_round(draft.memory().id.round);
  swap.set_workers(FormatIndices(lost));
  swap.set_spares(FormatIndices(spares));
  swap.set_pause_seconds(absl::ToDoubleSeconds(draft.view.now - *ended));
  swap.set_time(FormatWall(draft.view.wall));
  draft.EmitNormal(
      Reason::kSwapped,
      absl::StrCat("workers ", swap.spares(), " have taken the ranks of workers ", swap.workers()));
}

// Records in status.resize a round that has another number of workers than the last Active one,
// with the pause between the two, and snoozes growth.
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

const char* SourceName(ResumePoint::Source source) {
  switch (source) {
    case ResumePoint::LIVE:
      return "Live";
    case ResumePoint::MEMORY:
      return "Memory";
    case ResumePoint::CHECKPOINT:
      return "Checkpoint";
    default:
      return "Initial";
  }
}

// Records in status.resume the state from which the round trains that became Active, with the bytes
// and the time that its ranks report. A round that was adopted after a take-over leaves the record
// as it is: this leadership did not see how it began.
void NoteResumed(Draft& draft) {
  const RoundMemory& memory = draft.memory();
  if (memory.go == nullptr || !draft.spec().has_trainer()) return;
  const ResumePoint& point = memory.go->resume();
  int64_t bytes = 0;
  double seconds = 0;
  for (const AgentView& agent : draft.view.agents) {
    if (!agent.joined || agent.joined->round != memory.id) continue;
    bytes += agent.joined->restored_bytes;
    seconds = std::max(seconds, agent.joined->restore_seconds);
  }
  v1alpha1::ResumeStatus& status = *draft.status().mutable_resume();
  status.set_round(memory.id.round);
  status.set_source(SourceName(point.source()));
  status.set_step(point.version().step());
  status.set_bytes(bytes);
  status.set_seconds(seconds);
  status.set_time(FormatWall(draft.view.wall));
  status.set_message(point.reason().substr(0, kMaxMessage));
}

}  // namespace

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
  const v1alpha1::Mesh mesh = LayoutOfRound(draft);
  memory.holders.clear();
  for (const v1alpha1::Member& member : memory.members) {
    memory.holders[{member.worker().index(), member.worker().incarnation()}] =
        SlicesOf(member, mesh);
  }
}

void NoteSeats(Draft& draft, const std::vector<Seat>& seats) {
  SwapMemory& memory = draft.memory().swap;
  const std::map<int, int> before = std::move(memory.takes_over);
  memory = {};
  if (draft.SparesWanted() == 0) return;
  for (const Seat& seat : seats) {
    memory.domains[seat.index] = draft.FindWorker(seat.index)->pod->node_domains;
    // A spare that has not trained yet still takes over from the worker whose ranks were its own at
    // first, and so does the one that takes its place now.
    const auto still = before.find(seat.takes_over >= 0 ? seat.takes_over : seat.index);
    const int first = still == before.end() ? seat.takes_over : still->second;
    // A replacement that gets the ranks of its own index does not take over from another worker.
    if (first >= 0 && first != seat.index) memory.takes_over[seat.index] = first;
  }
}

void NoteRoundEnded(Draft& draft) { draft.memory().resize.ended = draft.view.now; }

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
