#include "operator/queue/refusal_memo.h"

#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "operator/queue/queue_fixtures.h"

namespace muster::control {
namespace {

GangRequest Request(int min, int64_t gpus = 1) {
  GangRequest request;
  request.per_worker.gpus = gpus;
  request.min = min;
  request.max = min + 5;
  return request;
}

TEST(RefusalMemo, TheSameIsRefusedAgain) {
  RefusalMemo memo;
  memo.Add(Request(4), nullptr, {UnplaceableReason::kInsufficient, "room for 3", 3});
  ASSERT_NE(memo.Find(Request(4), nullptr), nullptr);
  EXPECT_EQ(memo.Find(Request(4), nullptr)->sentence, "room for 3");
  EXPECT_EQ(memo.Find(Request(3), nullptr), nullptr) << "smaller";
  EXPECT_EQ(memo.Find(Request(9), nullptr), nullptr) << "larger: it has its own numbers";
  GangRequest larger_still = Request(4);
  larger_still.max = 20;
  EXPECT_EQ(memo.Find(larger_still, nullptr), nullptr) << "there may be room for more than four";
  EXPECT_EQ(memo.Find(Request(4, 2), nullptr), nullptr) << "another worker";
  GangRequest leaf = Request(4);
  leaf.required_level = "leaf";
  EXPECT_EQ(memo.Find(leaf, nullptr), nullptr) << "another level";
  memo.Clear();
  EXPECT_EQ(memo.Find(Request(4), nullptr), nullptr);
}

// A larger job of the same shape must not get a smaller one's refusal.
TEST(RefusalMemo, EachSizeIsRefusedWithItsOwnNumbers) {
  fixtures::World world(fixtures::Racks(2, 4), {});
  for (const int workers : {5, 6, 9}) {
    QueuedJob job = fixtures::Job(absl::StrCat("of-", workers), "", workers, 8, 0, workers);
    job.request.required_level = "rack";
    world.Submit(job);
  }
  world.Cycle();
  EXPECT_EQ(world.Of("of-5").reason, ScheduleReason::kTopology);
  EXPECT_EQ(world.Of("of-5").detail,
            "5 workers in one rack are asked for; the best, r0, has room for 4, and for 5 without "
            "that condition");
  EXPECT_EQ(world.Of("of-6").detail,
            "6 workers in one rack are asked for; the best, r0, has room for 4, and for 6 without "
            "that condition");
  EXPECT_EQ(world.Of("of-9").reason, ScheduleReason::kInsufficient);
  EXPECT_EQ(world.Of("of-9").detail, "room for 8 of at least 9 workers");
}

TEST(RefusalMemo, OtherNodesAreAnotherQuestion) {
  RefusalMemo memo;
  const auto some = std::make_shared<const GangNodes>();
  const auto others = std::make_shared<const GangNodes>();
  memo.Add(Request(1), some, {UnplaceableReason::kNoNodeBigEnough, "no", 0});
  EXPECT_NE(memo.Find(Request(1), some), nullptr);
  EXPECT_EQ(memo.Find(Request(1), others), nullptr);
  EXPECT_EQ(memo.Find(Request(1), nullptr), nullptr);
}

TEST(RefusalMemo, AnInvalidRequestSaysNothingOfAnotherSize) {
  RefusalMemo memo;
  memo.Add(Request(3), nullptr, {UnplaceableReason::kInvalidRequest, "3 is no multiple of 2", 0});
  EXPECT_NE(memo.Find(Request(3), nullptr), nullptr);
  EXPECT_EQ(memo.Find(Request(4), nullptr), nullptr);
}

}  // namespace
}  // namespace muster::control
