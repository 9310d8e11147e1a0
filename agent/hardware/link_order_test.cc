#include "agent/hardware/link_order.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Distances = std::vector<std::vector<int>>;

TEST(OrderByLinksTest, EqualDistancesKeepTheDriversOrder) {
  EXPECT_THAT(OrderByLinks({{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}, 3), ElementsAre(0, 1, 2));
}

// Two bridges of NVLink, between 0 and 2 and between 1 and 3.
TEST(OrderByLinksTest, BridgedNeighboursAreNextToEachOther) {
  const Distances distances = {{0, 6, 1, 6}, {6, 0, 6, 1}, {1, 6, 0, 6}, {6, 1, 6, 0}};
  EXPECT_THAT(OrderByLinks(distances, 4), ElementsAre(0, 2, 1, 3));
}

TEST(OrderByLinksTest, FewerThanThereAreAreTheNearest) {
  const Distances distances = {{0, 7, 7}, {7, 0, 1}, {7, 1, 0}};
  EXPECT_THAT(OrderByLinks(distances, 2), ElementsAre(1, 2));
}

// From 0 the nearest is 1, and the way back from the end is long: another start has a shorter ring.
TEST(OrderByLinksTest, TheShortestRingWins) {
  const Distances distances = {{0, 2, 3, 9}, {2, 0, 2, 3}, {3, 2, 0, 2}, {9, 3, 2, 0}};
  EXPECT_THAT(OrderByLinks(distances, 4), ElementsAre(1, 0, 2, 3));
}

TEST(OrderByLinksTest, NoneAreOrderedWhereThereAreNone) {
  EXPECT_THAT(OrderByLinks({}, 2), IsEmpty());
  EXPECT_THAT(OrderByLinks({{0}}, 0), IsEmpty());
  EXPECT_THAT(OrderByLinks({{0}}, 2), ElementsAre(0));
}

}  // namespace
}  // namespace muster::agent
