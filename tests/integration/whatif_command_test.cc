// Tests `muster whatif`: it shows where a job would go and who would make room for it, and changes
// nothing.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/job_field.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"
#include "tests/integration/placement_commands.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using WhatIfCommandTest = PlacementCommandsTest;

TEST_F(WhatIfCommandTest, SaysWhereAJobWouldGoAndChangesNothing) {
  Submit("gpt", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(HasPlacementReason("gpt", "Placed"));
  const std::string fits = Write("fits.json", Manifest("next", 2, R"({"prefer": "leaf"})"));
  const Said placed = Muster({"whatif", "-f", fits, "--server", server_});
  EXPECT_EQ(placed.code, kExitOk);
  EXPECT_EQ(placed.out,
            "default/next: 2 workers\n"
            "  score 1, all within leaf s0/l1\n"
            "  worker 0    n2\n"
            "  worker 1    n3\n");
  EXPECT_EQ(Muster({"whatif", "-f", fits, "--server", server_}).out, placed.out);
  EXPECT_FALSE(world_.memory->Get(kube::kTrainingJobs, {"default", "next"}).ok());

  const std::string wide = Write("wide.json", Manifest("next", 3, R"({"require": "spine"})"));
  const Said waits = Muster({"whatif", "-f", wide, "--server", server_});
  EXPECT_EQ(waits.code, kExitOk);
  EXPECT_EQ(waits.out,
            "default/next: 3 workers in one spine\n"
            "  Insufficient: room for 2 of at least 3 workers; fits now with workers.count <= 2\n"
            "  starts at an unknown time: no running job says when it ends\n"
            "  fits now as it is: 2 of 3\n"
            "  without topology.require: 2\n");
  const std::string rack = Write("rack.json", Manifest("next", 1, R"({"require": "rack"})"));
  EXPECT_THAT(Muster({"whatif", "-f", rack, "--server", server_}).out,
              HasSubstr("default/next: 1 worker in one rack\n  InvalidRequest: there is no "
                        "topology level \"rack\"; known: spine, leaf, host\n"));
  const auto json = ParseJson(Muster({"whatif", "-f", fits, "--json", "--server", server_}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["workers"][1]["node"], "n3");
}

TEST_F(WhatIfCommandTest, SaysWhoWouldMakeRoom) {
  Json urgent = kube::NewObject(kube::kPriorityClasses, {"", "urgent"});
  urgent["value"] = 1000;
  ASSERT_TRUE(world_.memory->Create(kube::kPriorityClasses, urgent).ok());
  Submit("gpt", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(HasPlacementReason("gpt", "Placed"));
  Submit("wide", 2, R"({"require": "leaf"})", R"("activeDeadline": "1h", )");
  ASSERT_TRUE(HasPlacementReason("wide", "Placed"));
  const std::string waits = Write("waits.json", Manifest("next", 1, "{}"));
  EXPECT_THAT(Muster({"whatif", "-f", waits, "--server", server_}).out,
              HasSubstr("\n  starts in about 60 min, when default/wide ends\n"));
  const std::string manifest = Write("urgent.json", Manifest("next", 4, R"({"require": "spine"})",
                                                             R"("priorityClassName": "urgent", )"));
  Said said;
  // Retries until the PriorityClass has reached the operator's cache.
  ASSERT_TRUE(world_.Until([&] {
    said = Muster({"whatif", "-f", manifest, "--server", server_});
    return said.out.find("WaitingForVictims") != std::string::npos;
  })) << said.out
      << said.error;
  EXPECT_THAT(said.out, HasSubstr("\n  starts in about 1 min, when default/gpt and default/wide "
                                  "have made room\n"));
  EXPECT_THAT(said.out,
              HasSubstr("GPU-seconds lost: priority 0 is below 1000; without it there are nodes "
                        "for 2 of 4 workers\n"));
  EXPECT_THAT(said.out, HasSubstr("  score 1, all within spine s0\n"));
  EXPECT_THAT(said.out, HasSubstr("  worker 3    n3\n"));
  const auto json =
      ParseJson(Muster({"whatif", "-f", manifest, "--json", "--server", server_}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  ASSERT_EQ((*json)["victims"].size(), 2u);
  const Json& victim = (*json)["victims"][0];
  EXPECT_EQ(victim["action"], "Stop");
  EXPECT_EQ(victim["reason"], "Priority");
  EXPECT_EQ(victim["workers"], 2);
  EXPECT_EQ(victim["keeps"], 0);
  EXPECT_GE(victim["gpuSecondsLost"].get<double>(), 16 * 120.0);
  // No job was asked to make room.
  for (const char* job : {"gpt", "wide"}) {
    const auto stored = world_.memory->Get(kube::kTrainingJobs, {"default", job});
    ASSERT_TRUE(stored.ok());
    EXPECT_EQ(control::JobField(*stored, {"status", "preemption"}), nullptr) << job;
  }
}

TEST_F(WhatIfCommandTest, SaysWhatIsWrongWithTheManifest) {
  const Said none = Muster({"whatif", "--server", server_});
  EXPECT_EQ(none.code, kExitBadInput);
  EXPECT_EQ(none.error, "muster: which manifest? muster whatif -f FILE\n");
  const Said missing = Muster({"whatif", "-f", "missing.yaml", "--server", server_});
  EXPECT_EQ(missing.code, kExitBadInput);
  EXPECT_EQ(missing.error, "muster: missing.yaml: cannot open: No such file or directory\n");
  const Said bad =
      Muster({"whatif", "-f", Write("b", Manifest("n", 0, "{}")), "--server", server_});
  EXPECT_EQ(bad.code, kExitBadInput);
  EXPECT_THAT(bad.error, HasSubstr("spec.workers.count"));
}

}  // namespace
}  // namespace muster::control
