#include "trainer/comm/tournament.h"

#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TournamentTest, InEachTurnTwoAreEachOthersOnlyPartnerAndNoTwoMeetTwice) {
  for (int players = 2; players <= 130; ++players) {
    std::set<std::pair<int, int>> met;
    for (const std::vector<int>& partner : TournamentTurns(players)) {
      ASSERT_EQ(partner.size(), static_cast<size_t>(players));
      for (int player = 0; player < players; ++player) {
        const int other = partner[player];
        if (other == -1) continue;
        ASSERT_NE(other, player);
        ASSERT_GE(other, 0);
        ASSERT_LT(other, players);
        ASSERT_EQ(partner[other], player) << players << " players";
        if (player < other) {
          EXPECT_TRUE(met.emplace(player, other).second) << players << " players";
        }
      }
    }
  }
}

TEST(TournamentTest, AFewMeetAllOthersAndManyMeetFew) {
  const auto partners = [](int players, int player) {
    std::set<int> met;
    for (const std::vector<int>& partner : TournamentTurns(players)) met.insert(partner[player]);
    met.erase(-1);
    return met.size();
  };
  for (const int players : {2, 3, 4, 5}) {
    for (int player = 0; player < players; ++player) {
      EXPECT_EQ(partners(players, player), static_cast<size_t>(players - 1)) << players;
    }
  }
  for (const int player : {0, 1, 500, 999}) EXPECT_EQ(partners(1000, player), 12u) << player;
}

TEST(TournamentTest, AmongManyThePartnersOfOneAreNearAndFar) {
  std::set<int> quarters;
  for (const std::vector<int>& partner : TournamentTurns(64)) quarters.insert(partner[3] / 16);
  EXPECT_THAT(quarters, ElementsAre(0, 1, 2, 3));
}

TEST(TournamentTest, OneAloneMeetsNobody) {
  EXPECT_THAT(TournamentTurns(1), IsEmpty());
  EXPECT_THAT(TournamentTurns(0), IsEmpty());
}

}  // namespace
}  // namespace muster::trainer
