#include "operator/reconcile/urgency.h"

#include <vector>

#include "base/testing/manual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using testing::ElementsAre;

class UrgencyTest : public testing::Test {
 protected:
  ManualClock clock_;
  std::vector<bool> changes_;
  Urgency urgency_{clock_, [this](bool held) { changes_.push_back(held); }};
};

TEST_F(UrgencyTest, EverythingElseIsHeldUntilTheLastUrgentWriteHasEnded) {
  {
    const Urgency::Scope first(&urgency_);
    {
      const Urgency::Scope second(&urgency_);
      EXPECT_TRUE(urgency_.held());
    }
    EXPECT_TRUE(urgency_.held());
  }
  EXPECT_FALSE(urgency_.held());
  EXPECT_THAT(changes_, ElementsAre(true, false));
  const Urgency::Scope nobody(nullptr);
}

TEST_F(UrgencyTest, UrgentWritesWithoutAnEndHoldNobodyForLong) {
  const Urgency::Scope always(&urgency_);
  clock_.Advance(Urgency::kPatience);
  {
    const Urgency::Scope another(&urgency_);
  }
  EXPECT_FALSE(urgency_.held());
  clock_.Advance(Urgency::kPatience);
  {
    const Urgency::Scope another(&urgency_);
  }
  EXPECT_THAT(changes_, ElementsAre(true, false)) << "not again before all of them have ended";
}

}  // namespace
}  // namespace muster::control
