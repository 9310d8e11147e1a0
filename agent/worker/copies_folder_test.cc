#include "agent/worker/copies_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
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

TEST_F(CopiesFolderTest, AMachineWithoutSuchMemorySaysSo) {
  CopiesFolder folder(FileSystem(), Path("missing"), "uid");
  folder.Sweep();
  const absl::Status made = folder.Make();
  EXPECT_TRUE(absl::IsNotFound(made)) << made;
  EXPECT_NE(made.message().find(folder.path()), std::string::npos) << made;
}

}  // namespace
}  // namespace muster::agent
