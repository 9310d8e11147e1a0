#include "trainer/comm/tournament.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace muster::trainer {
namespace {

int TurnsOf(int places) {
  int turns = 2;
  for (int reached = 1; reached < places; reached *= 2) ++turns;
  return std::min(turns, places - 1);
}

}  // namespace

std::vector<std::vector<int>> TournamentTurns(int players) {
  std::vector<std::vector<int>> turns;
  if (players < 2) return turns;
  const int places = players + players % 2;  // the last is empty if their number is odd
  const int circle = places - 1;
  const int wanted = TurnsOf(places);
  for (int turn = 0; turn < wanted; ++turn) {
    const int shift = static_cast<int>(static_cast<int64_t>(turn) * circle / wanted);
    std::vector<int> partner(players, -1);
    for (int player = 0; player < players; ++player) {
      // On the circle those whose sum is `shift` meet, and who would meet itself meets the last.
      int other = player == circle ? -1 : ((shift - player) % circle + circle) % circle;
      if (player == circle) {
        for (other = 0; (2 * other - shift) % circle != 0;) ++other;
      } else if (other == player) {
        other = circle;
      }
      if (other < players) partner[player] = other;
    }
    turns.push_back(std::move(partner));
  }
  return turns;
}

}  // namespace muster::trainer
