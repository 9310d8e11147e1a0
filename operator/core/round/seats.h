#ifndef MUSTER_OPERATOR_CORE_ROUND_SEATS_H_
#define MUSTER_OPERATOR_CORE_ROUND_SEATS_H_

#include <string>
#include <vector>

// Policy: which worker has which ranks in the next round. A seat is a place in the order of ranks.
// A worker that was in the last round keeps its place in the order, as does its replacement; a
// spare takes the seat of a worker that is missing, so that the ranks and the topology of the
// others stay as they are. Pure.
namespace muster::control {

struct SeatCandidate {
  int index = 0;  // of the worker
  // The network domains of its node, from broad to narrow; empty if they are not known.
  std::vector<std::string> domains;
};

struct Seat {
  int index = 0;        // of the worker
  int takes_over = -1;  // the index of the worker that had these ranks; -1: no other worker
  bool operator==(const Seat&) const = default;
};

// Returns the seats of the next round in the order of their ranks, at most `most`. `before` lists
// the workers of the last round in that order, empty without one, and `here` the workers that the
// next round can have, in any order. The seat of an absent worker goes to the candidate that shares
// the narrowest domain with it, among equals to the one with the lowest index. Further candidates
// are put among the others by their indices, while there are seats.
std::vector<Seat> AssignSeats(const std::vector<SeatCandidate>& before,
                              const std::vector<SeatCandidate>& here, int most);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_SEATS_H_
