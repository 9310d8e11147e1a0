#include "cli/show/event_table.h"

#include <vector>

#include "absl/time/time.h"
#include "base/json.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'767'225'660);  // 2026-01-01T00:01:00Z

Json Event(const char* kind, const char* name, const char* time, const char* reason) {
  return {{"involvedObject", {{"kind", kind}, {"name", name}}},
          {"type", "Normal"},
          {"reason", reason},
          {"message", "a sentence"},
          {"lastTimestamp", time}};
}

TEST(EventTableTest, ShowsTheEventsOfTheJobAndItsPodsOldestFirst) {
  Json often = Event("TrainingJob", "gpt", "2026-01-01T00:00:50Z", "RoundBroken");
  often["count"] = 3;
  Json micro = Event("Pod", "gpt-0-1", "", "Started");
  micro["eventTime"] = "2026-01-01T00:00:30.000000Z";
  const std::vector<Json> events = {often, micro,
                                    Event("TrainingJob", "other", "2026-01-01T00:00:10Z", "Wrong"),
                                    Event("Pod", "other-0-1", "2026-01-01T00:00:10Z", "Wrong"),
                                    Event("Node", "gpt", "2026-01-01T00:00:10Z", "Wrong")};
  EXPECT_EQ(EventTable(events, "gpt", {"gpt-0-1", "gpt-1-1"}, kNow),
            "LAST SEEN   TYPE     REASON        OBJECT            MESSAGE\n"
            "30s         Normal   Started       Pod/gpt-0-1       a sentence\n"
            "10s (x3)    Normal   RoundBroken   TrainingJob/gpt   a sentence\n");
}

TEST(EventTableTest, WithoutEventsThereIsNoTable) {
  EXPECT_EQ(EventTable({}, "gpt", {}, kNow), "");
}

TEST(EventTableTest, AnEventOfAnotherShapeIsNotShown) {
  EXPECT_EQ(EventTable({Json("text"), Json::object(), {{"involvedObject", 7}}}, "gpt", {}, kNow),
            "");
}

}  // namespace
}  // namespace muster::cli
