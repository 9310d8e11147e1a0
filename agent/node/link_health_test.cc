#include "agent/node/link_health.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::agent {
namespace {

class LinkHealthTest : public testing::Test {
 protected:
  LinkHealthTest() {
    port_.device = "mlx5_0";
    port_.port = 1;
    port_.state = "ACTIVE";
    port_.counters.link_downs = 3;  // while the machine started
    port_.counters.symbol_errors = 50;
  }
  void Look(absl::Duration later = absl::Seconds(10)) {
    now_ += later;
    Observe(port_, now_, past_);
  }
  // The reasons, each with a space.
  std::string Faults() const {
    std::string text;
    for (const HealthFault& fault : FaultsOf(port_, past_, now_)) text += fault.reason + " ";
    return text;
  }

  InfinibandReading port_;
  LinkPast past_;
  absl::Time now_ = absl::FromUnixSeconds(1000);
};

TEST_F(LinkHealthTest, APortThatWasActiveIsAFaultOnceItIsDownForAWhile) {
  Look();
  EXPECT_EQ(Faults(), "");
  port_.state = "DOWN";
  Look();
  EXPECT_EQ(Faults(), "") << "a cable is plugged anew";
  Look(kDownIsFault);
  EXPECT_EQ(Faults(), "PortDown ");
  EXPECT_EQ(FaultsOf(port_, past_, now_)[0].detail, "the port was ACTIVE and is DOWN");
  port_.state = "ACTIVE";
  Look();
  EXPECT_EQ(Faults(), "");
}

TEST_F(LinkHealthTest, APortThatWasNeverActiveIsNotInUse) {
  port_.state = "DOWN";
  Look();
  Look(absl::Hours(1));
  EXPECT_EQ(Faults(), "");
}

TEST_F(LinkHealthTest, ALinkThatGoesDownTwiceInFiveMinutesFlapsUntilItHasStayedUp) {
  Look();
  ++*port_.counters.link_downs;
  Look();
  EXPECT_EQ(Faults(), "");
  ++*port_.counters.link_downs;
  Look(kFlapsWithin);
  EXPECT_EQ(Faults(), "LinkFlaps ");
  Look(kUpIsPassed - absl::Seconds(1));
  EXPECT_EQ(Faults(), "LinkFlaps ");
  Look();
  EXPECT_EQ(Faults(), "") << "the check is passed";
}

TEST_F(LinkHealthTest, ALinkThatIsDownOrGoesDownAgainDoesNotPassTheCheck) {
  Look();
  *port_.counters.link_downs += 2;
  port_.state = "DOWN";
  Look();
  Look(kUpIsPassed * 2);
  EXPECT_EQ(Faults(), "PortDown LinkFlaps ");
  port_.state = "ACTIVE";
  Look();
  Look(kUpIsPassed / 2);
  EXPECT_EQ(Faults(), "LinkFlaps ");
  *port_.counters.link_downs += 2;
  Look();
  Look(kUpIsPassed - absl::Seconds(1));
  EXPECT_EQ(Faults(), "LinkFlaps ") << "the time begins anew";
  Look();
  EXPECT_EQ(Faults(), "");
}

TEST_F(LinkHealthTest, ALinkThatGoesDownSeldomDoesNotFlap) {
  Look();
  for (int i = 0; i < 10; ++i) {
    ++*port_.counters.link_downs;
    Look(kFlapsWithin + absl::Seconds(1));
    EXPECT_EQ(Faults(), "") << i;
  }
}

TEST_F(LinkHealthTest, TwoDownsBetweenTwoReadingsAreFlapsAndAResetCounterIsNone) {
  Look();
  *port_.counters.link_downs += 2;
  Look();
  EXPECT_EQ(Faults(), "LinkFlaps ");
  past_ = {};
  Look();
  port_.counters.link_downs = 0;
  Look();
  port_.counters.link_downs = 1;
  Look();
  EXPECT_EQ(Faults(), "");
}

TEST_F(LinkHealthTest, MoreSymbolErrorsInAnHourThanInfinibandAllowsAreAFault) {
  Look();
  for (int hour = 0; hour < 3; ++hour) {
    *port_.counters.symbol_errors += kSymbolErrorsAnHour;
    Look(absl::Hours(1));
    EXPECT_EQ(Faults(), "") << "the rate that is allowed";
  }
  *port_.counters.symbol_errors += kSymbolErrorsAnHour + 1;
  Look();
  EXPECT_EQ(Faults(), "SymbolErrors ");
  Look(kRemembered);
  EXPECT_EQ(Faults(), "SymbolErrors ");
  Look();
  EXPECT_EQ(Faults(), "");
}

TEST_F(LinkHealthTest, ADriverWithoutCountersStillHasAState) {
  port_.counters = {};
  Look();
  port_.state = "";
  Look();
  Look(kDownIsFault);
  EXPECT_EQ(FaultsOf(port_, past_, now_),
            (std::vector<HealthFault>{{"PortDown", "the port was ACTIVE and is without a state"}}));
}

}  // namespace
}  // namespace muster::agent
