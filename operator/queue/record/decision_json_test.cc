#include "operator/queue/record/decision_json.h"

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/queue_fixtures.h"

namespace muster::control {
namespace {

using fixtures::Job;
using fixtures::Queue;
using fixtures::Racks;
using fixtures::World;

TEST(DecisionJsonTest, ReplayGivesTheSameBytesAfterATripThroughJson) {
  World world(Racks(2, 2), {Queue("a", "all", 16), Queue("b", "all", 16)});
  world.options.links = {{"rack", {25, 1.0 / 3}}};
  int decided = 0;
  for (int cycle = 1; cycle <= 20; ++cycle) {
    world.now += absl::Seconds(1000.0 / 7);
    QueuedJob job = Job("j" + std::to_string(cycle), cycle % 3 == 0 ? "b" : "a", 1 + cycle % 4, 8,
                        cycle % 2 * 1e3 / 3, absl::ToDoubleSeconds(world.now - absl::UnixEpoch()));
    job.request.min = 1;
    world.Submit(job);
    if (cycle % 4 == 0) world.LetLeaversGo();
    DecisionInput input;
    const std::vector<Decision> decisions =
        ScheduleAndCapture(world.now, world.tree, world.book, world.options, input);
    decided += static_cast<int>(decisions.size());
    const std::string bytes = EncodeRecord(cycle, input, decisions);
    const auto json = ToJson(*DecodeRecord(bytes));
    ASSERT_TRUE(json.ok()) << json.status();
    const auto again = RecordFromJson(*ParseJson(DumpJson(*json, 2)));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(EncodeRecord(again->id, again->input, *DecodeOutcome(again->outcome)), bytes);
    EXPECT_EQ(EncodeOutcome(Replay(again->input)), EncodeOutcome(decisions));
  }
  EXPECT_GT(decided, 20);
}

TEST(DecisionJsonTest, DecisionsNameTheirJobs) {
  DecisionInput input;
  input.now = absl::FromUnixMillis(1'500);
  QueuedJob job = Job("uid", "none", 1);
  job.ns = "default";
  job.name = "gpt";
  input.snapshot.jobs = {job};
  const auto json = ToJson(*DecodeRecord(EncodeRecord(7, input, Replay(input))));
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["decision"], 7);
  EXPECT_EQ((*json)["time"], "1970-01-01T00:00:01.500Z");
  EXPECT_EQ((*json)["jobs"], 1);
  EXPECT_EQ((*json)["input"]["jobs"][0]["uid"], "uid");
  EXPECT_EQ((*json)["decided"], Json::parse(R"([{"action": "Wait", "job": "default/gpt",
      "reason": "NoSuchQueue", "sentence": "there is no usable queue \"none\""}])"));
}

TEST(DecisionJsonTest, JsonThatIsNoRecordIsRefused) {
  EXPECT_EQ(RecordFromJson(Json::array()).status().message(), "this is no record of a decision");
  EXPECT_EQ(
      std::string(RecordFromJson({{"decision", 1u}, {"input", {{"now", 5}}}}).status().message()),
      "this is no record of a decision: its input is missing or damaged");
}

}  // namespace
}  // namespace muster::control
