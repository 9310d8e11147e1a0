#include "trainer/comm/link_speeds.h"

#include <poll.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/comm/local_communicator.h"

namespace muster::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

using Speeds = std::map<std::pair<int, int>, double>;

// Runs the test on threads and returns the links that the ranks measured.
Speeds Measure(const LocalOptions& options, const std::vector<int>& ranks) {
  auto communicators = MakeLocalCommunicators(options);
  Mutex mu;
  Speeds speeds;
  std::vector<std::thread> threads;
  for (auto& communicator : communicators) {
    threads.emplace_back([&, group = communicator.get()] {
      const auto links = MeasureLinks(ranks, at::kCPU, *group, Clock::Real());
      EXPECT_TRUE(links.ok()) << links.status();
      if (!links.ok()) return;
      MutexLock lock(mu);
      for (const LinkSpeed& link : *links) {
        EXPECT_EQ(link.rank, group->rank());
        EXPECT_TRUE(speeds.emplace(std::pair(link.rank, link.peer), link.bytes_per_second).second);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return speeds;
}

TEST(LinkSpeedsTest, EveryPairOfAFewWorkersIsMeasuredByItsFirstRank) {
  const Speeds speeds = Measure({.size = 8}, {0, 2, 4, 6});
  std::vector<std::pair<int, int>> pairs;
  for (const auto& [pair, speed] : speeds) {
    pairs.push_back(pair);
    EXPECT_TRUE(speed > 0 && speed < 1e15) << speed;
  }
  const std::vector<std::pair<int, int>> all = {{0, 2}, {0, 4}, {0, 6}, {2, 4}, {2, 6}, {4, 6}};
  EXPECT_EQ(pairs, all) << "the ranks between them take no part";
}

TEST(LinkSpeedsTest, ARankThatIsSlowToSendHasOnlySlowLinks) {
  const Speeds speeds = Measure({.size = 5,
                                 .before_operation =
                                     [](int rank, const Fingerprint& operation) {
                                       const bool sends = operation.kind == OperationKind::kSend;
                                       if (rank == 3 && sends) poll(nullptr, 0, 50);
                                       return absl::OkStatus();
                                     }},
                                {0, 1, 2, 3, 4});
  ASSERT_EQ(speeds.size(), 10u);
  double slowest_other = 1e30;
  for (const auto& [pair, speed] : speeds) {
    // 4 MiB to and fro with 50 ms on the way; a shorter payload is slower still.
    if (pair.first == 3 || pair.second == 3) {
      EXPECT_TRUE(speed < 1.7e8) << pair.first << pair.second << " " << speed;
    } else {
      slowest_other = std::min(slowest_other, speed);
    }
  }
  for (const auto& [pair, speed] : speeds) {
    if (pair.first == 3 || pair.second == 3) EXPECT_LT(speed, slowest_other);
  }
}

TEST(LinkSpeedsTest, OneWorkerHasNoLinks) { EXPECT_THAT(Measure({.size = 2}, {0}), IsEmpty()); }

TEST(LinkSpeedsTest, RanksThatTheGroupDoesNotHaveAreRefused) {
  auto communicators = MakeLocalCommunicators({.size = 1});
  for (const std::vector<int>& ranks : {std::vector<int>{0, 1}, {0, 0}, {-1}}) {
    const auto links = MeasureLinks(ranks, at::kCPU, *communicators[0], Clock::Real());
    EXPECT_EQ(links.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(links.status().message()), HasSubstr("ascending ranks"));
  }
}

TEST(LinkSpeedsTest, TheErrorOfADeadPeerIsReturned) {
  auto communicators = MakeLocalCommunicators({.size = 2});
  communicators[1].reset();
  EXPECT_FALSE(MeasureLinks({0, 1}, at::kCPU, *communicators[0], Clock::Real()).ok());
}

}  // namespace
}  // namespace muster::trainer
