#ifndef MUSTER_TRAINER_COMM_TOURNAMENT_H_
#define MUSTER_TRAINER_COMM_TOURNAMENT_H_

#include <vector>

namespace muster::trainer {

// Policy: who measures a link with whom, and when. In each turn the players form pairs, so that no
// one has two partners at a time. Pure.

// Returns the partner of each of `players` in each turn; -1: none in that turn, if their number is
// odd. No two meet twice, and everybody meets log2(players) + 2 others, rounded up, or all of them
// if there are fewer, except for turns without a partner. The turns are spread over those of a
// round-robin by the circle method, so that partners are near and far in the order of players.
std::vector<std::vector<int>> TournamentTurns(int players);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_TOURNAMENT_H_
