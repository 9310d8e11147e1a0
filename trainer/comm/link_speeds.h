#ifndef MUSTER_TRAINER_COMM_LINK_SPEEDS_H_
#define MUSTER_TRAINER_COMM_LINK_SPEEDS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "c10/core/Device.h"
#include "trainer/comm/communicator.h"

namespace muster::trainer {

// Returns the partner of each of `players` in each turn of a tournament; -1: none in that turn, if
// their number is odd. In a turn no one has two partners. No two meet twice, and everybody meets
// log2(players) + 2 others, rounded up, or all of them if there are fewer, except for turns without
// a partner. The turns are spread over those of a round-robin by the circle method, so that
// partners are near and far in the order of players. Pure.
std::vector<std::vector<int>> TournamentTurns(int players);

struct LinkSpeed {
  int rank = 0;
  int peer = 0;
  double bytes_per_second = 0;
};

// Measures the links between `ranks` of the group, one per worker, pair by pair in the turns of
// TournamentTurns(). A pair sends a payload back and forth, from memory of `device`, so over the
// path on which the ranks train. The payload is at most 4 MiB, and less on a slow link, so that a
// pair takes about half a second; the fastest of three tries counts. Returns the links whose first
// rank is this rank; empty on a rank that is not among `ranks`.
//
// Every rank of `ranks` calls it at the same time; the others need not. InvalidArgument if `ranks`
// are not ascending ranks of the group, else the communicator's errors.
absl::StatusOr<std::vector<LinkSpeed>> MeasureLinks(const std::vector<int>& ranks,
                                                    c10::Device device, Communicator& group,
                                                    const Clock& clock);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_LINK_SPEEDS_H_
