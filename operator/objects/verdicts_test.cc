#include "operator/objects/verdicts.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"

namespace muster::control {
namespace {

using testing::SizeIs;

class VerdictsTest : public testing::Test {
 protected:
  VerdictsTest() {
    job_.ns = "team";
    job_.name = "gpt";
    job_.uid = "uid";
  }
  PlacementView Queued(const std::string& sentence, const std::string& reason = "QuotaExhausted") {
    PlacementView verdict;
    verdict.reason = reason;
    verdict.sentence = sentence;
    verdict.queued = true;
    return verdict;
  }

  std::vector<std::string> told_;
  Verdicts verdicts_{[this](const std::string& key) { told_.push_back(key); }};
  TrainingJob job_;
  const absl::Time start_ = absl::FromUnixSeconds(1000);
};

TEST_F(VerdictsTest, NumbersThatFollowTheClockAreNotPublishedAtOnce) {
  verdicts_.Set(start_, job_, Queued("by 9m from now"));
  verdicts_.Set(start_ + absl::Seconds(5), job_, Queued("by 8m from now"));
  EXPECT_THAT(told_, SizeIs(1));
  EXPECT_EQ(verdicts_.Of("uid").sentence, "by 9m from now");
  verdicts_.Set(start_ + absl::Minutes(1), job_, Queued("by 7m from now"));
  EXPECT_THAT(told_, SizeIs(2));
}

// The reason changes in a busy queue whenever a job starts or ends.
TEST_F(VerdictsTest, AnotherReasonToWaitIsPublishedOnceItHasLasted) {
  verdicts_.Set(start_, job_, Queued("no quota"));
  for (int i = 1; i < 9; ++i) {
    const absl::Time now = start_ + i * absl::Milliseconds(100);
    verdicts_.Set(now, job_, i % 2 == 1 ? Queued("held", "HeldByReservation") : Queued("no quota"));
    verdicts_.PublishDelayed(now);
  }
  verdicts_.PublishDelayed(start_ + absl::Seconds(30));
  EXPECT_THAT(told_, SizeIs(1)) << "it is as it was";
  verdicts_.Set(start_ + absl::Seconds(31), job_, Queued("held", "HeldByReservation"));
  EXPECT_THAT(told_, SizeIs(2)) << "the first for long";
  verdicts_.Set(start_ + absl::Seconds(32), job_, Queued("no", "NoSuchQueue"));
  verdicts_.PublishDelayed(start_ + absl::Seconds(33));
  EXPECT_THAT(told_, SizeIs(2));
  EXPECT_EQ(verdicts_.Of("uid").sentence, "held");
  verdicts_.PublishDelayed(start_ + absl::Seconds(36));
  EXPECT_THAT(told_, SizeIs(3)) << "though nobody says it again";
  EXPECT_EQ(verdicts_.Of("uid").sentence, "no");
  verdicts_.PublishDelayed(start_ + absl::Minutes(1));
  EXPECT_THAT(told_, SizeIs(3));
}

TEST_F(VerdictsTest, AReasonThatWasKeptBackDoesNotComeAfterAPlace) {
  verdicts_.Set(start_, job_, Queued("no quota"));
  verdicts_.Set(start_, job_, Queued("held", "HeldByReservation"));
  PlacementView placed;
  placed.domain = "rack-7";
  verdicts_.Set(start_, job_, placed);
  EXPECT_THAT(told_, SizeIs(2)) << "a place is news";
  verdicts_.PublishDelayed(start_ + absl::Minutes(1));
  EXPECT_THAT(told_, SizeIs(2));
  EXPECT_EQ(verdicts_.Of("uid").domain, "rack-7");
}

TEST_F(VerdictsTest, AnOrderGivenMeanwhileIsNotLostWithAKeptBackReason) {
  verdicts_.Set(start_, job_, Queued("no quota"));
  verdicts_.Set(start_, job_, Queued("held", "HeldByReservation"));
  verdicts_.SetOrder(job_, {0, "Reclaimed", "stops for team/large", {}}, start_);
  verdicts_.PublishDelayed(start_ + absl::Minutes(1));
  EXPECT_EQ(verdicts_.Of("uid").sentence, "held");
  ASSERT_TRUE(verdicts_.PendingOrder(job_).has_value());
}

TEST_F(VerdictsTest, AnOrderIsPendingUntilTheStatusShowsIt) {
  EXPECT_FALSE(verdicts_.PendingOrder(job_).has_value());
  verdicts_.SetOrder(job_, {0, "Reclaimed", "stops for team/large", {}}, start_);
  ASSERT_TRUE(verdicts_.PendingOrder(job_).has_value());
  EXPECT_EQ(verdicts_.PendingOrder(job_)->workers, 0);
  verdicts_.Set(start_, job_, Queued("stays beside it"));
  const QueueOrder order = *verdicts_.Of("uid").order;
  job_.status.mutable_preemption()->set_time(FormatWall(order.time));
  EXPECT_FALSE(verdicts_.PendingOrder(job_).has_value());
}

// Otherwise an order given while the wall clock is behind the last order's time would be ignored.
TEST_F(VerdictsTest, EveryOrderIsLaterThanTheOnesBefore) {
  job_.status.mutable_preemption()->set_time(FormatWall(start_ + absl::Hours(1)));
  verdicts_.SetOrder(job_, {2, "Reclaimed", "", {}}, start_);
  const absl::Time first = verdicts_.Of("uid").order->time;
  EXPECT_GT(first, start_ + absl::Hours(1));
  EXPECT_EQ(ParseWall(FormatWall(first)), first) << "as exact as a status is";
  verdicts_.SetOrder(job_, {0, "Reclaimed", "", {}}, start_);
  EXPECT_GT(verdicts_.Of("uid").order->time, first);
}

}  // namespace
}  // namespace muster::control
