#include "agent/worker/oom_kills.h"

#include <string>

#include "base/files.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

constexpr char kVersion1[] = "/c/memory/memory.oom_control";
constexpr char kVersion2[] = "/c/memory.events";

void Write(Files& files, const std::string& path, const std::string& text) {
  ASSERT_TRUE(files.MakeDirectories("/c/memory").ok());
  ASSERT_TRUE(WriteFileAtomically(files, path, text).ok());
}

TEST(OomKillsTest, CountsFromTheTimeItIsMadeAndEachKillOnce) {
  MemoryFiles files;
  Write(files, kVersion2, "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n");
  OomKills kills(files, "/c");
  EXPECT_FALSE(kills.Advanced());
  Write(files, kVersion2, "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 0\n");
  EXPECT_TRUE(kills.Advanced());
  EXPECT_FALSE(kills.Advanced());
}

TEST(OomKillsTest, ReadsCgroupsOfVersion1) {
  MemoryFiles files;
  Write(files, kVersion1, "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  OomKills kills(files, "/c");
  EXPECT_FALSE(kills.Advanced());
  Write(files, kVersion1, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  EXPECT_TRUE(kills.Advanced());
}

TEST(OomKillsTest, SeesNoneWhereThereIsNoCountOrNoNumber) {
  MemoryFiles files;
  OomKills kills(files, "/c");
  EXPECT_FALSE(kills.Advanced());
  Write(files, kVersion2, "oom_kill many\n");
  EXPECT_FALSE(kills.Advanced());
}

}  // namespace
}  // namespace muster::agent
