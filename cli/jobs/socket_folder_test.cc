#include "cli/jobs/socket_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

class SocketFolderTest : public testing::Test {
 protected:
  SocketFolderTest() {
    char folder[] = "/tmp/muster-sockets-XXXXXX";
    root_ = mkdtemp(folder);
    paths_ = {.root = root_ + "/state", .job = "gpt"};
    EXPECT_TRUE(MakeJobFolder(paths_).ok());
    own_ = absl::StrCat(root_, "/muster-", getuid());
  }
  ~SocketFolderTest() override { EXPECT_TRUE(RemoveAll(FileSystem(), root_).ok()); }

  std::string Make(const std::string& runtime = "") {
    const auto made = MakeSocketFolder(paths_, {.runtime = runtime, .shared = root_});
    EXPECT_TRUE(made.ok()) << made.status();
    struct stat info = {};
    EXPECT_EQ(lstat(made->c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0700u) << *made;
    return *made;
  }

  std::string root_, own_;
  JobPaths paths_;
};

TEST_F(SocketFolderTest, ItIsInTheFolderThatTheSessionGivesTheUser) {
  EXPECT_EQ(Make(root_), root_ + "/muster");
}

TEST_F(SocketFolderTest, WithoutASessionItIsInTheSharedFolder) {
  EXPECT_EQ(Make(), own_);
  EXPECT_EQ(Make(root_), own_) << "where the workers look that the last run has left";
}

// Anybody can make a folder of that name, or a link.
TEST_F(SocketFolderTest, AFolderThatSomebodyMadeFirstBlocksNobody) {
  ASSERT_EQ(mkdir(own_.c_str(), 0700), 0);
  ASSERT_EQ(chmod(own_.c_str(), 0777), 0);
  const std::string made = Make();
  EXPECT_TRUE(absl::StartsWith(made, own_ + "-")) << made;
  EXPECT_EQ(Make(), made);
}

TEST_F(SocketFolderTest, ALinkThatSomebodyMadeFirstIsNotFollowed) {
  ASSERT_EQ(mkdir((root_ + "/elsewhere").c_str(), 0700), 0);
  ASSERT_EQ(symlink((root_ + "/elsewhere").c_str(), own_.c_str()), 0);
  EXPECT_TRUE(absl::StartsWith(Make(), own_ + "-"));
}

TEST_F(SocketFolderTest, ASessionsFolderThatIsMissingOrTooLongIsNotUsed) {
  EXPECT_EQ(Make(root_ + "/missing"), own_);
  ASSERT_TRUE(RemoveAll(FileSystem(), paths_.folder() + "/sockets").ok());
  const std::string longer = root_ + "/" + std::string(100, 'x');
  ASSERT_TRUE(FileSystem().MakeDirectories(longer).ok());
  EXPECT_EQ(Make(longer), own_);
  ASSERT_TRUE(RemoveAll(FileSystem(), paths_.folder() + "/sockets").ok());
  EXPECT_EQ(Make("run/user"), own_) << "a relative path";
}

}  // namespace
}  // namespace muster::cli
