#include "agent/worker/ranks/oom_kills.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace muster::agent {
namespace {

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
