#include "cli/flags/job_paths.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace muster::cli {
namespace {

TEST(JobPathsTest, AHintNamesTheStateFolderWhereCommandsWouldNotLookForTheJobOtherwise) {
  ASSERT_EQ(setenv("MUSTER_STATE_DIR", "/usual", /*overwrite=*/1), 0);
  EXPECT_EQ((JobPaths{"/usual", "gpt"}.Hint("resume")), "muster resume gpt");
  EXPECT_EQ((JobPaths{"/other", "gpt"}.Hint("logs")), "muster logs gpt --state-dir /other");
  EXPECT_EQ((JobPaths{"/my jobs", "gpt"}.Hint("stop")), "muster stop gpt --state-dir '/my jobs'");
  EXPECT_EQ((JobPaths{"/a'; rm b", "gpt"}.Hint("stop")),
            "muster stop gpt --state-dir '/a'\\''; rm b'");
  unsetenv("MUSTER_STATE_DIR");
}

}  // namespace
}  // namespace muster::cli
