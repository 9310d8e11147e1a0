#include "agent/worker/ranks/rank_log.h"

#include <string>

#include "base/files/files.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

class RankLogTest : public testing::Test {
 protected:
  RankLogTest() { folder_ = testing::TempDir() + "/rank-log-test"; }
  void SetUp() override {
    ASSERT_TRUE(RemoveAll(FileSystem(), folder_).ok());
    ASSERT_TRUE(FileSystem().MakeDirectories(folder_).ok());
  }
  RankLog::Options Options(size_t max_bytes) {
    return {.path = folder_ + "/rank-0.log",
            .max_bytes = max_bytes,
            .show = [this](std::string_view line) { shown_ += line; }};
  }
  std::string File(const std::string& name) {
    return ReadFile(FileSystem(), folder_ + "/" + name).value_or("(none)");
  }

  std::string folder_;
  std::string shown_;
};

TEST_F(RankLogTest, ShowsWholeLinesWithThePrefix) {
  RankLog log(Options(1000), FileSystem());
  log.SetPrefix("[rank 3] ");
  log.Write("one\ntw");
  EXPECT_EQ(shown_, "[rank 3] one\n");
  log.Write("o\nthree");
  log.EndOfProcess();
  EXPECT_EQ(shown_, "[rank 3] one\n[rank 3] two\n[rank 3] three\n");
  EXPECT_EQ(File("rank-0.log"), "one\ntwo\nthree");
}

TEST_F(RankLogTest, RotatesBySizeAndKeepsTwo) {
  RankLog log(Options(10), FileSystem());
  for (const char* text : {"aaaaaaaa\n", "bbbbbbbb\n", "cccccccc\n", "dddddddd\n"}) log.Write(text);
  EXPECT_EQ(File("rank-0.log"), "dddddddd\n");
  EXPECT_EQ(File("rank-0.log.1"), "cccccccc\n");
  EXPECT_EQ(File("rank-0.log.2"), "bbbbbbbb\n");
  EXPECT_EQ(File("rank-0.log.3"), "(none)");
}

TEST_F(RankLogTest, GoesOnInTheFileOfAnEarlierAgent) {
  RankLog(Options(10), FileSystem()).Write("aaaaaaaa\n");
  RankLog(Options(10), FileSystem()).Write("bbbbbbbb\n");
  EXPECT_EQ(File("rank-0.log.1"), "aaaaaaaa\n");
}

TEST_F(RankLogTest, TheTailIsTheEndOfThisProcessOnly) {
  RankLog log(Options(1 << 20), FileSystem());
  log.Write("old\n");
  log.BeginProcess();
  log.Write(std::string(50'000, 'x'));
  log.Write("the end\n");
  log.EndOfProcess();
  EXPECT_EQ(log.tail().size(), 8192u);
  EXPECT_EQ(log.tail().substr(8192 - 8), "the end\n");
}

TEST_F(RankLogTest, AFolderThatIsGoneCostsOnlyTheFile) {
  RankLog log(Options(10), FileSystem());
  ASSERT_TRUE(RemoveAll(FileSystem(), folder_).ok());
  log.Write("line\n");
  EXPECT_EQ(shown_, "line\n");
}

}  // namespace
}  // namespace muster::agent
