#include "agent/node/machine_past.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::agent {
namespace {

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

InfinibandReading Port(const std::string& state, uint64_t downs) {
  InfinibandReading port;
  port.device = "mlx5_0";
  port.port = 1;
  port.state = state;
  port.counters.link_downs = downs;
  port.counters.symbol_errors = 7;
  return port;
}

DiskReading Disk(const std::string& state) {
  return {.name = "nvme0n1", .model = "", .bytes = 1, .rotational = false, .state = state};
}

TEST(MachinePastTest, ADiskWhoseControllerHasFailedForAWhileIsAFault) {
  for (const char* state : {"live", "running", "resetting", ""}) {
    MachinePast past;
    Observe({}, {Disk(state)}, At(100), past);
    EXPECT_TRUE(FaultsOf(Disk(state), past, At(1000)).empty()) << state;
  }
  for (const char* state : {"dead", "offline", "transport-offline"}) {
    MachinePast past;
    Observe({}, {Disk(state)}, At(100), past);
    Observe({}, {Disk(state)}, At(120), past);
    EXPECT_TRUE(FaultsOf(Disk(state), past, At(129)).empty()) << "it is detached";
    EXPECT_EQ(
        FaultsOf(Disk(state), past, At(130)),
        (std::vector<HealthFault>{{"DiskFailed", std::string("its controller is ") + state}}));
    Observe({}, {Disk("live")}, At(140), past);
    EXPECT_EQ(past, MachinePast());
  }
}

TEST(MachinePastTest, AFaultOutlivesTheAgent) {
  MachinePast past;
  Observe({Port("ACTIVE", 1)}, {}, At(100), past);
  Observe({Port("DOWN", 3)}, {Disk("dead")}, At(110), past);
  const auto kept = ParseMachinePast(FormatMachinePast(past));
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(*kept, past);
  EXPECT_EQ(FaultsOf(Port("DOWN", 3), *kept, At(140)).size(), 2u) << "down, and flaps";
  EXPECT_EQ(FaultsOf(Disk("dead"), *kept, At(140)).size(), 1u);
}

TEST(MachinePastTest, AReadingThatSaysNothingNewIsNotWrittenAnew) {
  MachinePast past;
  Observe({Port("ACTIVE", 1)}, {Disk("live")}, At(100), past);
  const MachinePast before = past;
  Observe({Port("ACTIVE", 1)}, {Disk("live")}, At(110), past);
  EXPECT_EQ(past, before);
}

TEST(MachinePastTest, PartsThatAreGoneAreForgotten) {
  MachinePast past;
  Observe({Port("ACTIVE", 1)}, {Disk("dead")}, At(100), past);
  Observe({}, {}, At(110), past);
  EXPECT_EQ(past, MachinePast());
}

TEST(MachinePastTest, AFileOfSomethingElseIsNamed) {
  for (const char* text :
       {"", "[]", "{}", R"({"ports": [], "failedDisks": {}})",
        R"({"ports": {"a:1": {}}, "failedDisks": {}})",
        R"({"ports": {"a:1": {"wasActive": 1}}, "failedDisks": {}})",
        R"({"ports": {"a:1": {"wasActive": true, "downs": [1, 2, 3]}}, "failedDisks": {}})",
        R"({"ports": {"a:1": {"wasActive": true, "linkDowns": -1}}, "failedDisks": {}})",
        R"({"ports": {}, "failedDisks": {"sda": "12"}})"}) {
    EXPECT_EQ(ParseMachinePast(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace muster::agent
