#include "agent/worker/install.h"

#include <sys/stat.h>

#include <string>

#include "base/files/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

class InstallTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = JoinPath(testing::TempDir(), "install");
    ASSERT_TRUE(RemoveAll(FileSystem(), folder_).ok());
    ASSERT_TRUE(FileSystem().MakeDirectories(folder_).ok());
    program_ = JoinPath(folder_, "program");
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), program_, "new").ok());
  }

  std::string folder_;
  std::string program_;
};

TEST_F(InstallTest, TheCopyIsExecutableByEveryUserAndReplacesAnOlderOne) {
  const std::string goal = JoinPath(folder_, "muster-agent");
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), goal, "an older one").ok());
  const absl::Status installed = InstallAgent(program_, folder_);
  ASSERT_TRUE(installed.ok()) << installed;
  EXPECT_EQ(ReadFile(FileSystem(), goal).value(), "new");
  struct stat info{};
  ASSERT_EQ(stat(goal.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0755u);
  const auto left = FileSystem().List(folder_);
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left->size(), 2u) << "nothing but the program and its copy";
}

TEST_F(InstallTest, AFolderThatIsNotThereIsNamed) {
  const absl::Status installed = InstallAgent(program_, JoinPath(folder_, "missing"));
  EXPECT_EQ(installed.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(installed.message()),
              testing::HasSubstr("install/missing/muster-agent: No such file or directory"));
}

}  // namespace
}  // namespace muster::agent
