#include "operator/queue/refusal_memo.h"

#include <gtest/gtest.h>

#include <memory>

namespace muster::control {
namespace {

GangRequest Request(int min, int64_t gpus = 1) {
  GangRequest request;
  request.per_worker.gpus = gpus;
  request.min = min;
  request.max = min + 5;
  return request;
}

TEST(RefusalMemo, WhatIsNoEasierIsRefusedToo) {
  RefusalMemo memo;
  memo.Add(Request(4), nullptr, {UnplaceableReason::kInsufficient, "room for 3", 3});
  ASSERT_NE(memo.Find(Request(4), nullptr), nullptr);
  EXPECT_EQ(memo.Find(Request(9), nullptr)->sentence, "room for 3");
  EXPECT_EQ(memo.Find(Request(3), nullptr), nullptr) << "smaller";
  EXPECT_EQ(memo.Find(Request(4, 2), nullptr), nullptr) << "another worker";
  GangRequest leaf = Request(4);
  leaf.required_level = "leaf";
  EXPECT_EQ(memo.Find(leaf, nullptr), nullptr) << "another level";
  memo.Clear();
  EXPECT_EQ(memo.Find(Request(4), nullptr), nullptr);
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
