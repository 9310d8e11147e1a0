#include "operator/core/saves/replica_ring.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using ::testing::IsEmpty;

// Expects that each worker keeps exactly one other's replica.
void ExpectRing(const std::vector<ReplicaPlace>& places, const std::map<int, int>& keepers) {
  std::set<int> keeping;
  EXPECT_EQ(keepers.size(), places.size());
  for (const auto& [owner, keeper] : keepers) {
    EXPECT_NE(owner, keeper);
    EXPECT_TRUE(keeping.insert(keeper).second) << keeper << " keeps two";
  }
}

TEST(ReplicaRingTest, OneWorkerHasNobodyToKeepItsReplica) {
  EXPECT_THAT(ReplicaRing({}), IsEmpty());
  EXPECT_THAT(ReplicaRing({{3, "a", {}}}), IsEmpty());
}

TEST(ReplicaRingTest, TwoWorkersKeepEachOthers) {
  EXPECT_EQ(ReplicaRing({{0, "a", {}}, {4, "a", {}}}), (std::map<int, int>{{0, 4}, {4, 0}}));
}

TEST(ReplicaRingTest, WorkersOfOneNodeAreKeptOnOthersWhileNoNodeHasMoreThanHalfOfThem) {
  const std::vector<ReplicaPlace> places = {{0, "a", {}}, {1, "a", {}}, {2, "a", {}},
                                            {3, "b", {}}, {4, "b", {}}, {5, "c", {}}};
  const std::map<int, int> keepers = ReplicaRing(places);
  ExpectRing(places, keepers);
  for (const auto& [owner, keeper] : keepers) {
    EXPECT_NE(places[owner].node, places[keeper].node) << owner;
  }
}

TEST(ReplicaRingTest, AnotherRackIsPreferredAmongOtherNodes) {
  const std::vector<ReplicaPlace> places = {
      {0, "a", {"z", "r1"}}, {1, "b", {"z", "r1"}}, {2, "c", {"z", "r2"}}, {3, "d", {"z", "r2"}}};
  const std::map<int, int> keepers = ReplicaRing(places);
  ExpectRing(places, keepers);
  for (const auto& [owner, keeper] : keepers) {
    EXPECT_NE(places[owner].domains[1], places[keeper].domains[1]) << owner;
  }
}

// With three racks in two zones no ring avoids every zone, but one avoids every rack.
TEST(ReplicaRingTest, ANarrowDomainCountsMoreThanABroadOne) {
  const std::vector<ReplicaPlace> places = {{0, "a", {"z1", "r1"}}, {1, "b", {"z1", "r1"}},
                                            {2, "c", {"z1", "r2"}}, {3, "d", {"z1", "r2"}},
                                            {4, "e", {"z2", "r3"}}, {5, "f", {"z2", "r3"}}};
  const std::map<int, int> keepers = ReplicaRing(places);
  ExpectRing(places, keepers);
  for (const auto& [owner, keeper] : keepers) {
    EXPECT_NE(places[owner].domains[1], places[keeper].domains[1]) << owner;
  }
}

TEST(ReplicaRingTest, UnknownDomainsAreNotTakenForOne) {
  const std::vector<ReplicaPlace> places = {
      {0, "", {""}}, {1, "", {""}}, {2, "b", {"r"}}, {3, "c", {"r"}}};
  ExpectRing(places, ReplicaRing(places));
}

TEST(ReplicaRingTest, TheOrderOfTheWorkersMakesNoDifference) {
  std::mt19937 random(5);
  std::vector<ReplicaPlace> places;
  for (int i = 0; i < 40; ++i) {
    places.push_back({i,
                      "n" + std::to_string(random() % 20),
                      {"z" + std::to_string(random() % 2), "r" + std::to_string(random() % 6)}});
  }
  const std::map<int, int> keepers = ReplicaRing(places);
  ExpectRing(places, keepers);
  std::shuffle(places.begin(), places.end(), random);
  EXPECT_EQ(ReplicaRing(places), keepers);
}

}  // namespace
}  // namespace muster::control
