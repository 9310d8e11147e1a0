#include "agent/replicas/replica_pace.h"

#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

const absl::Time kBegun = absl::FromUnixSeconds(1000);

ReplicaPace PaceOf(int ranks, std::vector<int> intervals) {
  ReplicaPace pace(ranks);
  absl::Time now = kBegun;
  pace.NoteCopy(0, now);
  for (const int interval : intervals) {
    now += absl::Seconds(interval);
    pace.NoteCopy(0, now);
  }
  return pace;
}

TEST(ReplicaPaceTest, TheFirstCopyGoesAtOnce) {
  EXPECT_EQ(PaceOf(1, {}).NextPart(kBegun, 50, 100), kBegun);
}

TEST(ReplicaPaceTest, BytesAreSpreadOverHalfOfTheInterval) {
  const ReplicaPace pace = PaceOf(1, {10, 10});
  EXPECT_EQ(pace.NextPart(kBegun, 0, 100), kBegun);
  EXPECT_EQ(pace.NextPart(kBegun, 50, 100), kBegun + absl::Seconds(2.5));
  EXPECT_EQ(pace.NextPart(kBegun, 100, 100), kBegun + absl::Seconds(5));
}

TEST(ReplicaPaceTest, TheRanksOfAWorkerShareIt) {
  EXPECT_EQ(PaceOf(4, {8}).NextPart(kBegun, 100, 100), kBegun + absl::Seconds(1));
}

TEST(ReplicaPaceTest, APauseDoesNotSlowTheNextStreamsDown) {
  EXPECT_EQ(PaceOf(1, {10, 500}).NextPart(kBegun, 100, 100), kBegun + absl::Seconds(5));
}

TEST(ReplicaPaceTest, IntervalsThatGrowAreFollowed) {
  EXPECT_EQ(PaceOf(1, {1, 60, 60, 60}).NextPart(kBegun, 100, 100), kBegun + absl::Seconds(30));
}

TEST(ReplicaPaceTest, AStreamIsGivenUpAfterThreeIntervalsAndNotBeforeTenSeconds) {
  EXPECT_EQ(PaceOf(1, {}).Deadline(1), absl::Seconds(10));
  EXPECT_EQ(PaceOf(1, {2}).Deadline(1), absl::Seconds(10));
  EXPECT_EQ(PaceOf(1, {100}).Deadline(1), absl::Seconds(300));
}

// The first copy of a large state has no interval yet, and takes longer than ten seconds.
TEST(ReplicaPaceTest, AStreamOfTenMegabytesASecondIsNotGivenUp) {
  EXPECT_EQ(PaceOf(1, {}).Deadline(20'000'000'000), absl::Seconds(2000));
}

}  // namespace
}  // namespace muster::agent
