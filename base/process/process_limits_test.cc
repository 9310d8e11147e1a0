#include "base/process/process_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <limits>

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(OpenFilesTest, TheSoftLimitIsRaisedToTheHardOne) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlim_t hard = limit.rlim_max;
  limit.rlim_cur = hard / 2;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(RaiseOpenFileLimit(), static_cast<int64_t>(hard));
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, hard);
}

TEST(ProcessRoomTest, TooFewFilesOrProcessesAreNamedWithTheirLimit) {
  EXPECT_TRUE(CheckProcessRoom({256, 100}, {256, 100}).ok());
  EXPECT_EQ(CheckProcessRoom({128, 100}, {256, 100}).message(),
            "at most 128 open files are allowed (ulimit -n), and 256 are needed: raise the limit, "
            "as with: ulimit -n 1024");
  EXPECT_EQ(CheckProcessRoom({256, 40}, {256, 100}).message(),
            "this user may start 40 more processes and threads (ulimit -u), and 100 are needed: "
            "raise the limit, or end other programs");
}

TEST(ProcessRoomTest, RootHasNoLimitOfProcesses) {
  if (getuid() != 0) GTEST_SKIP() << "not root";
  EXPECT_EQ(ProcessesLeft(), std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace muster
