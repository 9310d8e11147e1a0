#include "cli/jobs/rank_output.h"

#include "base/testing/memory_files.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

class RankOutputTest : public testing::Test {
 protected:
  void Append(const std::string& pod, const std::string& text) {
    ASSERT_TRUE(files_.MakeDirectories("/pods/" + pod + "/logs").ok());
    const auto log = files_.Create("/pods/" + pod + "/logs/agent.log", CreateMode::kAppend);
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE((*log)->Append(text).ok());
  }

  MemoryFiles files_;
};

TEST_F(RankOutputTest, ShowsWholeLinesOfRanksAndNotTheAgentsOwn) {
  RankOutput output(files_, "/pods");
  EXPECT_EQ(output.TakeLines(), "") << "there is no pod yet";
  Append("job-0-1", "I rank started\n[rank 0] one\n[rank 0] tw");
  Append("job-1-1", "[rank 1] uno\n");
  EXPECT_EQ(output.TakeLines(), "[rank 0] one\n[rank 1] uno\n");
  EXPECT_EQ(output.TakeLines(), "");
  Append("job-0-1", "o\n");
  EXPECT_EQ(output.TakeLines(), "[rank 0] two\n");
}

TEST_F(RankOutputTest, LinesPrintedBeforeAreNotPrintedAgain) {
  Append("job-0-1", "[rank 0] before\n");
  RankOutput output(files_, "/pods");
  Append("job-0-1", "[rank 0] now\n");
  EXPECT_EQ(output.TakeLines(), "[rank 0] now\n");
}

TEST_F(RankOutputTest, ALogThatBeginsAnewIsReadFromItsBeginning) {
  RankOutput output(files_, "/pods");
  Append("job-0-1", "[rank 0] a long line of before\n");
  EXPECT_NE(output.TakeLines(), "");
  ASSERT_TRUE(WriteFileAtomically(files_, "/pods/job-0-1/logs/agent.log", "[rank 0] anew\n").ok());
  EXPECT_EQ(output.TakeLines(), "[rank 0] anew\n");
}

TEST_F(RankOutputTest, OnlyATrainersWarningsAreReturned) {
  EXPECT_EQ(WarningsAmong("[rank 0] 2026-11-23T02:28:46.791788Z INFO data opened WARN\n"
                          "[rank 0] 2026-11-23T02:28:46.791788Z WARN this CPU is slow\n"
                          "[rank 1] WARN\n\n"),
            "[rank 0] 2026-11-23T02:28:46.791788Z WARN this CPU is slow\n");
  EXPECT_EQ(WarningsAmong(""), "");
}

}  // namespace
}  // namespace muster::cli
