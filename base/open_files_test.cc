#include "base/open_files.h"

#include <sys/resource.h>

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

}  // namespace
}  // namespace muster
