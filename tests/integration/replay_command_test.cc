// Tests `muster simulate`, and that `muster replay` repeats its decisions and the operator's.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/placement_commands.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ReplayCommandTest = PlacementCommandsTest;

constexpr char kCluster[] = R"(
levels: [rack]
pools:
- {name: h100, nodes: 4, gpus: 8, perDomain: [2]}
queues:
- {name: a, parent: all, quotas: [{resource: nvidia.com/gpu, nominal: "16"}]}
- {name: b, parent: all, quotas: [{resource: nvidia.com/gpu, nominal: "16"}]}
options: {stop: 10s, restart: 20s}
)";
constexpr char kTrace[] =
    "name,submit,duration,workers,gpus,queue\n"
    "borrower,0,100,4,8,a\n"
    "owner,40,30,2,8,b\n";

TEST_F(ReplayCommandTest, ReplayDecidesAgainWhatWasDecided) {
  const std::string cluster = Write("cluster.yaml", kCluster), trace = Write("trace.csv", kTrace);
  const std::string ring = folder_ + "/decisions-of-replay";
  ASSERT_TRUE(RemoveAll(FileSystem(), ring).ok());
  ASSERT_EQ(Muster({"simulate", "--cluster", cluster, "--trace", trace, "--record", ring}).code,
            kExitOk);
  const Said all = Muster({"replay", "--dir", ring});
  EXPECT_EQ(all.code, kExitOk) << all.error;
  EXPECT_EQ(all.out,
            "       1  1970-01-01T00:00:00.000Z    1 decided\n"
            "       2  1970-01-01T00:00:40.000Z    2 decided\n"
            "       3  1970-01-01T00:00:50.000Z    2 decided\n"
            "       4  1970-01-01T00:01:20.000Z    1 decided\n"
            "4 decisions, 0 of them replay differently\n");
  const Said one = Muster({"replay", "2", "--dir", ring});
  EXPECT_EQ(one.code, kExitOk) << one.error;
  EXPECT_EQ(
      one.out,
      "decision 2 of 1970-01-01T00:00:40.000Z: 4 nodes, 2 jobs, 3 queues\n"
      "  Stop   default/borrower  Reclaimed: stops for owner#0000001, which takes back its queue's "
      "nominal quota; the jobs that make room lose 1920 GPU-seconds, at least 1920 whichever jobs "
      "are chosen\n"
      "  Wait   default/owner  WaitingForVictims: waits for other jobs to make room; within 10s if "
      "running jobs end when they say\n"
      "replayed: the same, byte for byte\n");
  const auto json = ParseJson(Muster({"replay", "3", "--json", "--dir", ring}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["same"], true);
  EXPECT_EQ((*json)["replayed"][0]["job"], "default/owner");
  const Said unknown = Muster({"replay", "5", "--dir", ring});
  EXPECT_EQ(unknown.code, kExitBadInput);
  EXPECT_EQ(unknown.error,
            absl::StrCat("muster: there is no decision 5 in ", ring, "; it has 1 to 4\n"));
  EXPECT_EQ(Muster({"replay", "last", "--dir", ring}).error,
            "muster: a decision is a number, not 'last'\n");
}

TEST_F(ReplayCommandTest, ExplainNamesTheDecisionThatReplayDecidesAgain) {
  world_.StopOperator();
  world_.decision_log_dir = folder_ + "/decisions-of-operator";
  ASSERT_TRUE(RemoveAll(FileSystem(), world_.decision_log_dir).ok());
  world_.StartOperator();
  server_ = world_.app->http_address();
  Submit("gpt", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(HasPlacementReason("gpt", "Placed"));
  Submit("wide", 3, R"({"require": "leaf"})");
  ASSERT_TRUE(HasPlacementReason("wide", "Insufficient"));
  for (const char* job : {"gpt", "wide"}) {
    const auto json = ParseJson(Muster({"explain", job, "--json", "--server", server_}).out);
    ASSERT_TRUE(json.ok()) << json.status();
    ASSERT_TRUE(json->contains("decision")) << job;
    const std::string id = absl::StrCat((*json)["decision"].get<int64_t>());
    EXPECT_THAT(Muster({"explain", job, "--server", server_}).out,
                HasSubstr(absl::StrCat("  decided in ", id, ": muster replay ", id, "\n")));
    Said said;
    const bool written = world_.Until([&] {
      said = Muster({"replay", id, "--dir", world_.decision_log_dir});
      return said.code == kExitOk;
    });
    EXPECT_TRUE(written) << said.error << said.out;
    EXPECT_THAT(said.out, HasSubstr(absl::StrCat("default/", job)));
    EXPECT_THAT(said.out, HasSubstr("replayed: the same, byte for byte\n"));
    EXPECT_EQ(Muster({"replay", id, "--server", server_}).out, said.out);
  }
  const Said unknown = Muster({"replay", "1000", "--server", server_});
  EXPECT_EQ(unknown.code, kExitBadInput);
  EXPECT_THAT(unknown.error, HasSubstr("there is no decision 1000 in "));
  EXPECT_EQ(Muster({"replay", "--dir", world_.decision_log_dir}).code, kExitOk);
}

TEST_F(ReplayCommandTest, SimulatePrintsItsReportDecisionsAndPicture) {
  const std::string cluster = Write("cluster.yaml", kCluster), trace = Write("trace.csv", kTrace);
  const Said said = Muster({"simulate", "--cluster", cluster, "--trace", trace, "--decisions",
                            folder_ + "/decisions", "--svg", folder_ + "/day.svg"});
  EXPECT_EQ(said.code, kExitOk) << said.error;
  EXPECT_THAT(said.out, StartsWith("jobs           2 submitted, 2 finished, 0 never started\n"
                                   "makespan       200.0 s\n"
                                   "utilisation    92.5 % of 32 nvidia.com/gpu\n"
                                   "fragmentation  0.0 % of what is free, while jobs wait\n"
                                   "fairness       1.000 (Jain)\n"
                                   "preemptions    1 stopped, 0 shrunk, 0 grown back\n"
                                   "back-filled    0\n"));
  EXPECT_EQ(
      ReadFile(FileSystem(), folder_ + "/decisions").value_or(""),
      "0.000 Start borrower#0000000 Borrowing: starts with 4 workers; queue \"a\" borrows for "
      "it\n"
      "40.000 Stop borrower#0000000 Reclaimed: stops for owner#0000001, which takes back its "
      "queue's nominal quota; the jobs that make room lose 1920 GPU-seconds, at least 1920 "
      "whichever jobs are chosen\n"
      "40.000 Wait owner#0000001 WaitingForVictims: waits for other jobs to make room; within "
      "10s if running jobs end when they say\n"
      "50.000 Start owner#0000001 WithinQuota: starts with 2 workers within the nominal "
      "quota of queue \"b\"\n"
      "50.000 Wait borrower#0000000 QuotaExhausted: 32 nvidia.com/gpu needed, 16 available to "
      "queue \"a\"; within 30s if running jobs end when they say\n"
      "80.000 Start borrower#0000000 Borrowing: starts with 4 workers; queue \"a\" borrows "
      "for it\n");
  EXPECT_THAT(ReadFile(FileSystem(), folder_ + "/day.svg").value_or(""), StartsWith("<svg"));
  const auto json =
      ParseJson(Muster({"simulate", "--cluster", cluster, "--trace", trace, "--json"}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["makespanSeconds"], 200.0);
  const Said nodeless = Muster({"simulate", "--trace", trace});
  EXPECT_EQ(nodeless.code, kExitBadInput);
  EXPECT_EQ(nodeless.error, "muster: the trace has no topology: give --cluster FILE\n");
  EXPECT_EQ(Muster({"simulate"}).error, "muster: give --trace FILE\n");
}

}  // namespace
}  // namespace muster::control
