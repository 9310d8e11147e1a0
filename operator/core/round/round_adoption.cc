#include "operator/core/round/round_adoption.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/ending/finish.h"
#include "operator/core/round/round_phase.h"
#include "operator/core/round/seats.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/membership.h"
#include "operator/core/state/round_memory.h"
#include "operator/core/state/round_transition.h"
#include "operator/core/state/view.h"
#include "operator/core/state/workers.h"

namespace muster::control {
namespace {

using v1alpha1::Member;

// An agent's other reports follow its hello within this time.
constexpr absl::Duration kSettling = absl::Milliseconds(250);

// Returns the id of the recorded round if the worker is in it. A round's number is never used
// twice, so it alone identifies the round; the term in the status may have been raised since.
std::optional<RoundStamp> FindIn(const Draft& draft, const Worker& worker, RoundStamp recorded) {
  if (worker.presence != Presence::kPresent) return std::nullopt;
  if (worker.agent->active.round == recorded.round) return worker.agent->active;
  if (HasReachedEnd(draft, worker, recorded)) return worker.agent->finished->round;
  return std::nullopt;
}

bool IsSettling(const Draft& draft, const Worker& worker) {
  return worker.presence == Presence::kPresent &&
         draft.view.now < worker.agent->attached_at + kSettling;
}

// Puts the workers in the order of the ranks that they have in the recorded round. Agents that are
// too old to say theirs are in a round whose ranks follow the indices.
void SortBySeats(std::vector<const Worker*>& in) {
  std::stable_sort(in.begin(), in.end(), [](const Worker* a, const Worker* b) {
    return a->agent->first_rank < b->agent->first_rank;
  });
}

// Returns true if `in` is the whole recorded round, except for commands that have ended since.
bool IsWhole(const Draft& draft, const std::vector<const Worker*>& in) {
  const std::string& recorded = draft.view.status.membership();
  if (in.empty()) return false;
  const auto are_recorded = [&](const std::vector<const Worker*>& workers) {
    return RoundMembership(MakeMembers(draft.view, workers), TrajectoryOf(recorded)) == recorded;
  };
  if (are_recorded(in)) return true;
  std::vector<const Worker*> with_ended;
  size_t open = 0;
  for (const Worker& worker : draft.workers) {
    const bool is_in = std::count(in.begin(), in.end(), &worker) > 0;
    if (is_in || (worker.ended && worker.pod != nullptr)) with_ended.push_back(&worker);
    open += !worker.ended;
  }
  if (open == draft.workers.size()) return false;
  // Spares are in no round.
  open -= std::min<size_t>(open, draft.SparesWanted());
  return open == in.size() || are_recorded(with_ended);
}

}  // namespace

bool AdoptOrWait(Draft& draft) {
  RoundMemory& memory = draft.memory();
  const RoundStamp recorded{draft.view.status.term(), draft.view.status.round()};
  if (memory.id != RoundStamp{} || recorded.round == 0) return false;
  std::vector<const Worker*> in;
  RoundStamp their_id = recorded;
  bool unknown = false;
  for (const Worker& worker : draft.workers) {
    if (worker.ended) continue;
    if (const auto id = FindIn(draft, worker, recorded)) {
      in.push_back(&worker);
      their_id = *id;
    }
    unknown = unknown || worker.presence == Presence::kUnknown || IsSettling(draft, worker);
  }
  SortBySeats(in);
  std::vector<Member> members = MakeMembers(draft.view, in);
  const bool whole = IsWhole(draft, in);
  if (!whole && unknown) {
    draft.RequeueAt(draft.view.now + kSettling);
    draft.SetReason(Reason::kUnknownAfterTakeOver,
                    "waiting for agents that may still be stepping in the recorded round");
    return true;
  }
  memory.id = their_id;
  memory.members = std::move(members);
  memory.membership = draft.view.status.membership();
  memory.trajectory = TrajectoryOf(memory.membership);
  std::vector<Seat> seats;
  for (const Worker* worker : in) {
    memory.sent_session[worker->index] = worker->agent->session;
    seats.push_back({worker->index});
  }
  NoteSeats(draft, seats);
  if (whole) {
    BecomeActive(draft, RoundEvent::kAdopt, Reason::kRoundAdopted);
  } else if (!in.empty()) {
    memory.was_active = true;
    memory.active_round = memory.id.round;
    for (size_t i = 0; i < in.size(); ++i) {
      memory.members[i].set_first_rank(in[i]->agent->first_rank);
    }
    NoteHolders(draft);
    memory.swap.places = draft.WorkersWanted();
    memory.broken_reason = Reason::kWorkerLost;
    memory.broken_sentence = "a member of the recorded round was lost while no operator ran";
    MoveRound(draft, RoundEvent::kBreak);
  }
  return false;
}

}  // namespace muster::control
