#include "agent/worker/ranks/copies_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/without_privileges.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

class CopiesFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* root = std::getenv("TEST_TMPDIR");
    memory_ = absl::StrCat(root == nullptr ? "/tmp" : root, "/memory-XXXXXX");
    ASSERT_NE(mkdtemp(memory_.data()), nullptr);
  }
  std::string Path(const std::string& name) const { return absl::StrCat(memory_, "/", name); }
  bool IsThere(const std::string& name) const { return Exists(FileSystem(), Path(name)); }
  void MakeCopy(const CopiesFolder& folder) const {
    const std::string copy = folder.path() + "/rank-0/step-000000010";
    ASSERT_TRUE(FileSystem().MakeDirectories(copy).ok());
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), copy + "/DONE", "done").ok());
  }

  std::string memory_;
};

TEST_F(CopiesFolderTest, ItIsPrivateAndGoesWithItsCopiesAtTheEnd) {
  {
    CopiesFolder folder(FileSystem(), memory_, "uid-1");
    EXPECT_EQ(folder.path(), Path("muster-copies-uid-1"));
    EXPECT_FALSE(IsThere("muster-copies-uid-1")) << "nobody wants copies yet";
    ASSERT_TRUE(folder.Make().ok());
    ASSERT_TRUE(folder.Make().ok());
    struct stat info;
    ASSERT_EQ(stat(folder.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    MakeCopy(folder);
  }
  EXPECT_FALSE(IsThere("muster-copies-uid-1"));
}

TEST_F(CopiesFolderTest, TheFolderOfALivingAgentIsNotSwept) {
  CopiesFolder living(FileSystem(), memory_, "living");
  ASSERT_TRUE(living.Make().ok());
  MakeCopy(living);
  CopiesFolder(FileSystem(), memory_, "other").Sweep();
  EXPECT_TRUE(IsThere("muster-copies-living/rank-0/step-000000010/DONE"));
}

TEST_F(CopiesFolderTest, TheFolderOfAKilledAgentIsSweptAndNothingElseIs) {
  ASSERT_EQ(mkdir(Path("of-others").c_str(), 0700), 0);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    CopiesFolder folder(FileSystem(), memory_, "killed");
    if (!folder.Make().ok()) _exit(1);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    while (true) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  CopiesFolder next(FileSystem(), memory_, "next");
  next.Sweep();
  EXPECT_TRUE(IsThere("muster-copies-killed"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  next.Sweep();
  EXPECT_FALSE(IsThere("muster-copies-killed"));
  EXPECT_TRUE(IsThere("of-others"));
}

// The sweep cannot remove the link, which is in a folder of somebody else.
TEST_F(CopiesFolderTest, ALinkInAFolderOfTheNameDoesNotLeadTheSweepElsewhere) {
  ASSERT_EQ(mkdir(Path("target").c_str(), 0700), 0);
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), Path("target/thesis"), "years").ok());
  ASSERT_EQ(mkdir(Path("muster-copies-evil").c_str(), 0700), 0);
  ASSERT_EQ(symlink(Path("target").c_str(), Path("muster-copies-evil/x").c_str()), 0);
  ASSERT_EQ(symlink(Path("target").c_str(), Path("muster-copies-link").c_str()), 0);
  ASSERT_EQ(chmod(Path("muster-copies-evil").c_str(), 0555), 0);
  WithoutPrivileges([this] { CopiesFolder(FileSystem(), memory_, "own").Sweep(); });
  EXPECT_TRUE(IsThere("target/thesis"));
}

TEST_F(CopiesFolderTest, AFolderOfAnotherUserIsNeitherSweptNorUsed) {
  ASSERT_EQ(mkdir(Path("muster-copies-evil").c_str(), 0777), 0);
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), Path("muster-copies-evil/file"), "x").ok());
  if (chown(Path("muster-copies-evil").c_str(), 65534, 65534) != 0) GTEST_SKIP() << "not root";
  CopiesFolder(FileSystem(), memory_, "own").Sweep();
  EXPECT_TRUE(IsThere("muster-copies-evil/file"));
  CopiesFolder used(FileSystem(), memory_, "evil");
  const absl::Status made = used.Make();
  EXPECT_TRUE(absl::IsPermissionDenied(made)) << made;
}

TEST_F(CopiesFolderTest, AFolderThatLetsOthersInIsNotUsed) {
  ASSERT_EQ(mkdir(Path("muster-copies-open").c_str(), 0700), 0);
  ASSERT_EQ(chmod(Path("muster-copies-open").c_str(), 0777), 0);
  CopiesFolder folder(FileSystem(), memory_, "open");
  EXPECT_TRUE(absl::IsPermissionDenied(folder.Make()));
}

TEST_F(CopiesFolderTest, AMachineWithoutSuchMemorySaysSo) {
  CopiesFolder folder(FileSystem(), Path("missing"), "uid");
  folder.Sweep();
  const absl::Status made = folder.Make();
  EXPECT_TRUE(absl::IsNotFound(made)) << made;
  EXPECT_NE(made.message().find(folder.path()), std::string::npos) << made;
}

}  // namespace
}  // namespace muster::agent
