#include "cli/commands.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "base/files.h"
#include "cli/job_paths.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Ended {
  int code = 0;
  std::string out;
  std::string err;
};

Ended Call(int (*command)(const std::vector<std::string>&), std::vector<std::string> arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ended ended;
  ended.code = command(arguments);
  ended.out = testing::internal::GetCapturedStdout();
  ended.err = testing::internal::GetCapturedStderr();
  return ended;
}

const Command& Named(const std::string& name) {
  for (const Command& command : Commands()) {
    if (command.name == name) return command;
  }
  std::abort();
}

std::string Root(const std::string& name) {
  std::string root = JoinPath(testing::TempDir(), name);
  EXPECT_TRUE(RemoveAll(FileSystem(), root).ok());
  EXPECT_TRUE(FileSystem().MakeDirectories(root).ok());
  return root;
}

constexpr const char* kOfOneJob[] = {"get", "describe", "logs", "stop", "resume", "checkpoints"};

// `muster get NAME` and `muster logs NAME` said 0: a run whose port was taken leaves such a folder.
TEST(CommandsTest, AFolderThatNoJobWasWrittenToIsNoJob) {
  const std::string root = Root("folder");
  const JobPaths paths{root, "small"};
  ASSERT_TRUE(FileSystem().MakeDirectories(paths.pods()).ok());
  ASSERT_TRUE(FileSystem().MakeDirectories(paths.api()).ok());
  for (const char* name : kOfOneJob) {
    const Ended ended = Call(Named(name).main, {"small", "--state-dir", root});
    EXPECT_EQ(ended.code, kExitBadInput) << name;
    EXPECT_THAT(ended.out, IsEmpty()) << name;
    EXPECT_EQ(ended.err, absl::StrCat("muster: there is no job 'small': ", paths.folder(),
                                      " is there, but no job was written to it\n"))
        << name;
  }
  const Ended all = Call(Named("get").main, {"--state-dir", root});
  EXPECT_EQ(all.code, kExitOk) << "a list of all is one, whatever is in it";
  EXPECT_THAT(all.out, HasSubstr("there is no job 'small'"));
}

TEST(CommandsTest, AJobThatNobodyKnowsIsNamedWithThoseThereAre) {
  const std::string root = Root("unknown");
  ASSERT_TRUE(FileSystem().MakeDirectories(JobPaths{root, "small"}.api()).ok());
  for (const char* name : kOfOneJob) {
    const Ended ended = Call(Named(name).main, {"nobody", "--state-dir", root});
    EXPECT_EQ(ended.code, kExitBadInput) << name;
    EXPECT_THAT(ended.out, IsEmpty()) << name;
    EXPECT_EQ(ended.err,
              absl::StrCat("muster: there is no job 'nobody'; there are: small (in ", root, ")\n"))
        << name;
  }
}

}  // namespace
}  // namespace muster::cli
