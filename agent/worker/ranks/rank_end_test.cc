#include "agent/worker/ranks/rank_end.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

// As ErrorHandler.record_exception of PyTorch 2.11 writes it.
TEST(ExceptionOfTest, IsTheMessageOfTheException) {
  EXPECT_EQ(ExceptionOf(R"({"message": {"message": "ValueError: no\ndata", "extraInfo":
                            {"py_callstack": "Traceback ...", "timestamp": "1795453788"}}})"),
            "ValueError: no data");
  EXPECT_EQ(ExceptionOf(R"({"message": "killed by the watchdog"})"), "killed by the watchdog");
}

TEST(ExceptionOfTest, IsEmptyForAnythingElse) {
  for (const char* text : {"", "{", "[]", "7", R"({"message": 7})", R"({"message": {}})",
                           R"({"message": {"message": ["x"]}})", R"({"error": "x"})"}) {
    EXPECT_EQ(ExceptionOf(text), "") << text;
  }
}

TEST(ExceptionOfTest, IsCut) {
  EXPECT_EQ(ExceptionOf(absl::StrCat(R"({"message": ")", std::string(9000, 'x'), R"("})")),
            std::string(500, 'x'));
}

class ReadErrorFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/muster-error-file-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    std::ofstream(Path("good")) << R"({"message": "x"})";
  }
  void TearDown() override {
    for (const char* name : {"good", "pipe", "link"}) unlink(Path(name).c_str());
    rmdir(folder_.c_str());
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(ReadErrorFileTest, OnlyARegularFileIsRead) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink(Path("good").c_str(), Path("link").c_str()), 0);
  EXPECT_EQ(ReadErrorFile(Path("good")), "x");
  EXPECT_EQ(ReadErrorFile(Path("pipe")), "");
  EXPECT_EQ(ReadErrorFile(Path("link")), "");
  EXPECT_EQ(ReadErrorFile(Path("none")), "");
  EXPECT_EQ(ReadErrorFile(folder_), "");
}

class OomKillsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::string(testing::TempDir()) + "/oom_kills_test";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/memory");
  }
  void Write(const std::string& file, const std::string& text) const {
    std::ofstream(folder_ + "/" + file) << text;
  }
  std::string folder_;
};

TEST_F(OomKillsTest, CountsFromTheTimeItIsMadeAndEachKillOnce) {
  Write("memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n");
  OomKills kills(folder_);
  EXPECT_FALSE(kills.Advanced());
  Write("memory.events", "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 0\n");
  EXPECT_TRUE(kills.Advanced());
  EXPECT_FALSE(kills.Advanced());
}

TEST_F(OomKillsTest, ReadsCgroupsOfVersion1) {
  Write("memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  OomKills kills(folder_);
  EXPECT_FALSE(kills.Advanced());
  Write("memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  EXPECT_TRUE(kills.Advanced());
}

TEST_F(OomKillsTest, SeesNoneWhereThereIsNoCountOrNoNumber) {
  OomKills kills(folder_);
  EXPECT_FALSE(kills.Advanced());
  Write("memory.events", "oom_kill many\n");
  EXPECT_FALSE(kills.Advanced());
}

}  // namespace
}  // namespace muster::agent
