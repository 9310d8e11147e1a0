#include "operator/core/round/swap.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/index_ranges.h"

namespace muster::control {

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

}  // namespace muster::control
