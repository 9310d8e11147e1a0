#include "operator/nodes/unhealthy_taint.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

// A node over time.
struct Node {
  void See(const std::string& status, absl::Duration later = absl::ZeroDuration()) {
    now += later;
    choice = ChooseTaint(status, choice.tainted, ParseHealthPast(ToText(choice.past)), now);
  }
  absl::Time now = kStart;
  TaintChoice choice;
};

TEST(UnhealthyTaintTest, ABrokenNodeIsTaintedUntilItHasBeenGoodForTenMinutes) {
  Node node;
  node.See("True");
  EXPECT_EQ(node.choice, TaintChoice{}) << "a good node has no annotation";
  node.See("False");
  EXPECT_TRUE(node.choice.tainted);
  node.See("False", absl::Hours(48));
  EXPECT_TRUE(node.choice.tainted);
  node.See("True", absl::Minutes(1));
  EXPECT_TRUE(node.choice.tainted);
  node.See("True", absl::Minutes(9));
  EXPECT_TRUE(node.choice.tainted);
  node.See("True", absl::Minutes(1));
  EXPECT_FALSE(node.choice.tainted);
}

TEST(UnhealthyTaintTest, EachFurtherFaultDoublesTheWaitUpToADay) {
  EXPECT_EQ(WaitAfterFaults(1), absl::Minutes(10));
  EXPECT_EQ(WaitAfterFaults(2), absl::Minutes(20));
  EXPECT_EQ(WaitAfterFaults(5), absl::Minutes(160));
  EXPECT_EQ(WaitAfterFaults(9), absl::Hours(24));
  EXPECT_EQ(WaitAfterFaults(1000), absl::Hours(24));
  Node node;
  for (int fault = 1; fault <= 3; ++fault) {
    node.See("False", absl::Minutes(1));
    node.See("True", absl::Minutes(1));
    node.See("True", WaitAfterFaults(fault) - absl::Seconds(1));
    EXPECT_TRUE(node.choice.tainted) << fault;
    node.See("True", absl::Seconds(1));
    EXPECT_FALSE(node.choice.tainted) << fault;
  }
}

TEST(UnhealthyTaintTest, AFaultThatComesBackWithinTheWaitCountsAndBeginsItAnew) {
  Node node;
  node.See("False");
  node.See("True", absl::Minutes(1));
  node.See("False", absl::Minutes(9));
  EXPECT_EQ(node.choice.past.faults, 2);
  node.See("True", absl::Minutes(1));
  node.See("True", absl::Minutes(19));
  EXPECT_TRUE(node.choice.tainted);
}

TEST(UnhealthyTaintTest, AnUnknownConditionIsNotGoodAndChangesNoTaint) {
  Node node;
  node.See("Unknown");
  EXPECT_EQ(node.choice, TaintChoice{});
  node.See("False");
  node.See("True", absl::Minutes(1));
  node.See("Unknown", absl::Minutes(8));
  node.See("True", absl::Minutes(8));
  EXPECT_TRUE(node.choice.tainted) << "nobody knows how it was meanwhile";
  node.See("True", absl::Minutes(10));
  EXPECT_FALSE(node.choice.tainted);
  node.See("", absl::Minutes(1));
  EXPECT_FALSE(node.choice.tainted);
}

TEST(UnhealthyTaintTest, AfterAGoodWeekTheNodeBeginsAnew) {
  for (const int hours : {7 * 24 - 1, 7 * 24}) {
    Node node;
    node.See("False");
    node.See("True", absl::Minutes(1));
    node.See("True", absl::Minutes(10));
    ASSERT_FALSE(node.choice.tainted);
    node.See("False", absl::Hours(hours) - absl::Minutes(10));
    EXPECT_EQ(node.choice.past.faults, hours < 7 * 24 ? 2 : 1);
    EXPECT_TRUE(node.choice.tainted);
  }
}

TEST(UnhealthyTaintTest, ATaintThatPeopleTakeFromABrokenNodeComesBackAndCountsAsAFault) {
  Node node;
  node.See("False");
  node.choice.tainted = false;
  node.See("False", absl::Minutes(1));
  EXPECT_TRUE(node.choice.tainted);
  EXPECT_EQ(node.choice.past.faults, 2);
}

TEST(UnhealthyTaintTest, ATextThatIsNoPastIsAnEmptyOne) {
  for (const char* text : {"", "[]", "{", R"({"faults": "many"})", R"({"goodSince": 1})"}) {
    EXPECT_EQ(ParseHealthPast(text), HealthPast{}) << text;
  }
  const HealthPast past{3, kStart};
  EXPECT_EQ(ParseHealthPast(ToText(past)), past);
}

TEST(UnhealthyTaintTest, AClockThatWasSetBackBeginsTheWaitAnew) {
  Node node;
  node.See("False");
  node.See("True", absl::Minutes(1));
  node.See("True", -absl::Hours(1));
  node.See("True", absl::Minutes(9));
  EXPECT_TRUE(node.choice.tainted);
  node.See("True", absl::Minutes(1));
  EXPECT_FALSE(node.choice.tainted);
}

}  // namespace
}  // namespace muster::control
