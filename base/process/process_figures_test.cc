#include "base/process/process_figures.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(ProcessFiguresTest, ReadsAStatLineWhateverTheCommandIsCalled) {
  const auto stat = ParseProcessStat(
      "7 (a) b ( c) S 1 7 7 0 -1 4194560 10 0 0 0 250 50 0 0 20 0 13 0 4200 8192000 77 184 1 1");
  ASSERT_TRUE(stat.ok()) << stat.status();
  EXPECT_EQ(stat->cpu_ticks, 300);
  EXPECT_EQ(stat->threads, 13);
  EXPECT_EQ(stat->start_ticks, 4200);
  EXPECT_EQ(stat->virtual_bytes, 8192000);
  EXPECT_EQ(stat->resident_pages, 77);
}

TEST(ProcessFiguresTest, RefusesWhatIsNoStatLine) {
  EXPECT_EQ(ParseProcessStat("").status().message(),
            "a /proc/PID/stat line has its command in brackets");
  EXPECT_EQ(ParseProcessStat("7 (a) S 1 7").status().message(),
            "a /proc/PID/stat line has at least 24 fields");
}

TEST(ProcessFiguresTest, ReadsThisProcess) {
  const ProcessFigures figures = ReadProcessFigures();
  EXPECT_GT(figures.start_time, 1.6e9);
  EXPECT_GT(figures.resident_bytes, 1 << 20);
  EXPECT_GE(figures.virtual_bytes, figures.resident_bytes);
  EXPECT_GE(figures.threads, 1);
  EXPECT_GE(figures.open_fds, 3);
  EXPECT_GE(figures.max_fds, figures.open_fds);
}

}  // namespace
}  // namespace muster
