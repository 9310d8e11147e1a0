#include "operator/core/round/seats.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

std::vector<SeatCandidate> Workers(const std::vector<int>& indices) {
  std::vector<SeatCandidate> workers;
  for (const int index : indices) workers.push_back({index, {}});
  return workers;
}

// Returns the seats as "0 3<1 2": worker 3 has taken the seat of worker 1.
std::string Text(const std::vector<Seat>& seats) {
  return absl::StrJoin(seats, " ", [](std::string* out, const Seat& seat) {
    absl::StrAppend(out, seat.index);
    if (seat.takes_over >= 0) absl::StrAppend(out, "<", seat.takes_over);
  });
}

std::string Seats(const std::vector<int>& before, const std::vector<int>& here, int most) {
  return Text(AssignSeats(Workers(before), Workers(here), most));
}

TEST(Seats, TheLowestIndicesComeFirstWhereNothingLives) {
  EXPECT_EQ(Seats({}, {3, 1, 0, 2}, 3), "0 1 2");
  EXPECT_EQ(Seats({}, {4, 2}, 3), "2 4");
  EXPECT_EQ(Seats({}, {}, 3), "");
  EXPECT_EQ(Seats({}, {1}, 0), "");
}

TEST(Seats, ASpareTakesTheSeatOfALostWorkerAndTheOthersKeepTheirs) {
  EXPECT_EQ(Seats({0, 1, 2}, {0, 2, 3}, 3), "0 3<1 2");
  EXPECT_EQ(Seats({0, 1, 2}, {1, 2, 3}, 3), "3<0 1 2");
}

TEST(Seats, ManyLossesAtOnceAreFilledInTheOrderOfTheSeats) {
  EXPECT_EQ(Seats({0, 1, 2, 3}, {0, 3, 4, 5}, 4), "0 4<1 5<2 3");
}

TEST(Seats, MoreLossesThanSparesLeaveTheLastSeatsEmptyAndKeepTheOrder) {
  EXPECT_EQ(Seats({0, 1, 2, 3}, {0, 3, 4}, 4), "0 4<1 3");
}

TEST(Seats, AReplacementIsASpareOnceAnotherHasItsSeat) {
  EXPECT_EQ(Seats({0, 3, 2}, {0, 1, 2, 3}, 3), "0 3 2");
  EXPECT_EQ(Seats({0, 3, 2}, {0, 1, 3}, 3), "0 3 1<2");
}

TEST(Seats, AReplacementThatIsThereInTimeKeepsItsOwnSeat) {
  EXPECT_EQ(Seats({0, 1, 2}, {0, 1, 2, 3}, 3), "0 1 2");
}

TEST(Seats, AWorkerThatComesBackIntoASmallerRoundHasItsPlaceAmongTheIndices) {
  EXPECT_EQ(Seats({0, 2}, {0, 1, 2}, 3), "0 1 2");
}

TEST(Seats, TheLastSeatsGoWhenTheJobIsScaledDown) {
  EXPECT_EQ(Seats({0, 1, 2}, {0, 1, 2, 3}, 2), "0 1");
  EXPECT_EQ(Seats({0, 3, 2}, {0, 1, 2, 3}, 2), "0 3");
}

TEST(Seats, ASpareInALowSeatThatMustGoLeavesItsSeatToAnother) {
  // The job shrinks from three workers and one spare to two and one, so worker 3 goes.
  EXPECT_EQ(Seats({0, 3, 2}, {0, 1, 2}, 2), "0 2");
  // The spares are taken away, and the replacement is there.
  EXPECT_EQ(Seats({0, 3, 2}, {0, 1, 2}, 3), "0 1<3 2");
}

TEST(Seats, TheNearestSpareIsTakenWhateverItsIndex) {
  const std::vector<SeatCandidate> before = {
      {0, {"zone-a", "rack-1"}}, {1, {"zone-a", "rack-2"}}, {2, {"zone-b", "rack-3"}}};
  const SeatCandidate far = {3, {"zone-c", "rack-9"}};
  const SeatCandidate zone = {4, {"zone-b", "rack-8"}};
  const SeatCandidate rack = {5, {"zone-a", "rack-2"}};
  EXPECT_EQ(Text(AssignSeats(before, {before[0], before[2], far, zone, rack}, 3)), "0 5<1 2");
  EXPECT_EQ(Text(AssignSeats(before, {before[0], before[1], far, zone, rack}, 3)), "0 1 4<2");
  // The pair that shares the most comes first: seat 1 does not take what is nearer to seat 2.
  EXPECT_EQ(Text(AssignSeats(before, {before[0], far, zone}, 3)), "0 3<1 4<2");
}

TEST(Seats, DomainsThatAreNotKnownAreSharedByNobody) {
  EXPECT_EQ(Text(AssignSeats({{0, {""}}, {1, {""}}}, {{0, {""}}, {2, {"a"}}, {3, {""}}}, 2)),
            "0 2<1");
}

}  // namespace
}  // namespace muster::control
