#include "operator/core/round/seats.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>

#include "operator/core/state/shared_levels.h"

namespace muster::control {
namespace {

// A seat of the last round, with its worker of the next one once it has any.
struct Place {
  const SeatCandidate* before = nullptr;
  std::optional<Seat> seat;
};

using Free = std::map<int, const SeatCandidate*>;  // by index

// Gives up to `room` empty places to candidates, the nearest pairs first.
void Fill(std::vector<Place>& places, Free& free, int room) {
  size_t levels = 0;
  for (const Place& place : places) levels = std::max(levels, place.before->domains.size());
  for (size_t level = levels + 1; level-- > 0;) {
    for (Place& place : places) {
      if (room == 0 || free.empty()) return;
      if (place.seat) continue;
      const auto nearest = std::find_if(free.begin(), free.end(), [&](const auto& candidate) {
        return SharedLevels(place.before->domains, candidate.second->domains) == level;
      });
      if (nearest == free.end()) continue;
      place.seat = Seat{nearest->first, place.before->index};
      free.erase(nearest);
      --room;
    }
  }
}

void InsertByIndex(int index, std::vector<Seat>& seats) {
  const auto after = std::find_if(seats.begin(), seats.end(),
                                  [&](const Seat& seat) { return seat.index > index; });
  seats.insert(after, Seat{index});
}

}  // namespace

std::vector<Seat> AssignSeats(const std::vector<SeatCandidate>& before,
                              const std::vector<SeatCandidate>& here, int most) {
  Free free;
  for (const SeatCandidate& candidate : here) free[candidate.index] = &candidate;
  std::vector<Place> places;
  int kept = 0;
  for (const SeatCandidate& candidate : before) {
    Place& place = places.emplace_back(Place{&candidate, std::nullopt});
    if (kept == most || free.erase(candidate.index) == 0) continue;
    place.seat = Seat{candidate.index};
    ++kept;
  }
  Fill(places, free, most - kept);
  std::vector<Seat> seats;
  for (const Place& place : places) {
    if (place.seat) seats.push_back(*place.seat);
  }
  for (const auto& [index, candidate] : free) {
    if (static_cast<int>(seats.size()) >= most) break;
    InsertByIndex(index, seats);
  }
  return seats;
}

}  // namespace muster::control
