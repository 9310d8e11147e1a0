// Tests `muster tree`, `queue`, `whatif` and `replay` on a machine where several jobs run, each
// under its own operator.
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/local_jobs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/memory_api.h"
#include "tests/integration/placement_commands.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class SeveralJobsTest : public PlacementCommandsTest {
 protected:
  void SetUp() override {
    PlacementCommandsTest::SetUp();
    root_ = cli::Absolute(folder_ + "/state");
    ASSERT_TRUE(RemoveAll(FileSystem(), root_).ok());
    for (const char* job : {"big", "small"}) AddRunning(job);
  }

  // Creates the state of a running `muster run`, with the test's operator as its live operator.
  void AddRunning(const std::string& job) {
    const cli::JobPaths paths{root_, job};
    kube::MemoryApiOptions options;
    options.directory = paths.api();
    options.random = [engine = std::mt19937_64(1)]() mutable { return engine(); };
    ASSERT_TRUE(FileSystem().MakeDirectories(paths.api()).ok());
    const auto api = kube::MemoryApi::Open(Clock::Real(), std::move(options));
    ASSERT_TRUE(api.ok()) << api.status();
    const auto made = (*api)->Create(kube::kTrainingJobs, Json::parse(Manifest(job, 1, "{}")));
    ASSERT_TRUE(made.ok()) << made.status();
    ASSERT_TRUE(cli::WriteLiveOperator(FileSystem(), paths, server_).ok());
  }

  Said Ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--state-dir", root_});
    return Muster(std::move(arguments));
  }

  std::string root_;
};

TEST_F(SeveralJobsTest, TreeAndQueueShowWhatEachOperatorSees) {
  for (const char* command : {"tree", "queue"}) {
    const Said one = Ask({command, "--job", "small"});
    EXPECT_EQ(one.code, kExitOk) << one.error;
    EXPECT_THAT(one.out, Not(IsEmpty())) << command;
    const Said all = Ask({command});
    EXPECT_EQ(all.code, kExitOk) << all.error;
    EXPECT_EQ(all.out, absl::StrCat("job big:\n", one.out, "\njob small:\n", one.out)) << command;
  }
}

TEST_F(SeveralJobsTest, ACommandThatNeedsOneOperatorSaysHowToChooseIt) {
  const std::string file = Write("next.json", Manifest("next", 2, "{}"));
  const std::string choose = absl::StrCat(
      "muster: choose a job with --job NAME; several run now: big, small (in ", root_, ")\n");
  const std::vector<std::vector<std::string>> commands = {{"whatif", "-f", file},
                                                          {"replay"},
                                                          {"tree", "--json"},
                                                          {"tree", "--svg", folder_ + "/tree.svg"},
                                                          {"queue", "--json"}};
  for (const std::vector<std::string>& command : commands) {
    const Said refused = Ask(command);
    EXPECT_EQ(refused.code, kExitBadInput) << command[0];
    EXPECT_EQ(refused.error, choose) << command[0];
    EXPECT_THAT(refused.out, IsEmpty()) << command[0];
  }
  const Said placed = Ask({"whatif", "-f", file, "--job", "small"});
  EXPECT_EQ(placed.code, kExitOk) << placed.error;
  EXPECT_THAT(placed.out, HasSubstr("default/next: 2 workers\n"));
  EXPECT_THAT(placed.out, HasSubstr("  worker 1    n1\n"));
  const Said drawn = Ask({"tree", "--json", "--job", "big"});
  EXPECT_EQ(drawn.code, kExitOk) << drawn.error;
  EXPECT_TRUE(ParseJson(drawn.out).ok()) << drawn.out;
  const Said replayed = Ask({"replay", "--job", "big"});
  EXPECT_THAT(replayed.error, HasSubstr(cli::JobPaths{root_, "big"}.decisions()));
}

TEST_F(SeveralJobsTest, ExplainShowsWhereAJobWouldBeOnAnotherCluster) {
  const std::string file = Write("cluster.yaml",
                                 "levels: [rack]\n"
                                 "pools: [{name: far, nodes: 2, perDomain: [2], gpus: 8}]\n");
  const Said there = Ask({"explain", "small", "--cluster", file});
  EXPECT_EQ(there.code, kExitOk) << there.error;
  EXPECT_THAT(there.out, HasSubstr("default/small: 1 worker\n"));
  EXPECT_THAT(there.out, HasSubstr("  worker 0    far-"));
  EXPECT_EQ(Ask({"explain", "--cluster", file}).code, kExitBadInput) << "which job?";
}

TEST_F(SeveralJobsTest, AJobThatHasEndedIsNotAsked) {
  ASSERT_TRUE(RemoveAll(FileSystem(), cli::JobPaths{root_, "big"}.operator_file()).ok());
  const Said tree = Ask({"tree"});
  EXPECT_EQ(tree.code, kExitOk) << tree.error;
  EXPECT_THAT(tree.out, Not(HasSubstr("job ")));
  const Said ended = Ask({"tree", "--job", "big"});
  EXPECT_EQ(ended.code, kExitFailed);
  EXPECT_THAT(ended.error, HasSubstr("job big has no operator on this machine now"));
}

TEST_F(SeveralJobsTest, AClustersOperatorIsNotChosenByAJob) {
  const Said both = Muster({"tree", "--server", server_, "--job", "big"});
  EXPECT_EQ(both.code, kExitBadInput);
  EXPECT_THAT(both.error, HasSubstr("--job chooses among the jobs of this machine"));
}

}  // namespace
}  // namespace muster::control
